package store

import (
	"context"
	"database/sql"
	"sync"
)

// statements keeps what a database was asked before, ready to be asked again:
// to compile a statement takes longer than to run it.
type statements struct {
	mu     sync.Mutex
	ready  map[string]*sql.Stmt
	wanted map[string]bool
}

// prepare makes statements ready that were asked for since it was called last.
// It is called without a transaction, which may have the only connection. What
// cannot be prepared is asked as it is, and fails there.
func (s *statements) prepare(ctx context.Context, db *sql.DB) {
	s.mu.Lock()
	wanted := s.wanted
	s.wanted = nil
	s.mu.Unlock()
	for query := range wanted {
		stmt, err := db.PrepareContext(ctx, query)
		if err != nil {
			continue
		}
		s.mu.Lock()
		if s.ready == nil {
			s.ready = map[string]*sql.Stmt{}
		}
		s.ready[query] = stmt // a second one of the same ends with its database
		s.mu.Unlock()
	}
}

// of returns a statement that is ready, or nil.
func (s *statements) of(query string) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	stmt := s.ready[query]
	if stmt == nil {
		if s.wanted == nil {
			s.wanted = map[string]bool{}
		}
		s.wanted[query] = true
	}
	return stmt
}

// prepared is a transaction that uses statements that are ready.
type prepared struct {
	*sql.Tx
	statements *statements
}

// ExecContext is that of the transaction.
func (p prepared) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if stmt := p.statements.of(query); stmt != nil {
		return p.StmtContext(ctx, stmt).ExecContext(ctx, args...)
	}
	return p.Tx.ExecContext(ctx, query, args...)
}

// QueryContext is that of the transaction.
func (p prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt := p.statements.of(query); stmt != nil {
		return p.StmtContext(ctx, stmt).QueryContext(ctx, args...)
	}
	return p.Tx.QueryContext(ctx, query, args...)
}

// QueryRowContext is that of the transaction.
func (p prepared) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if stmt := p.statements.of(query); stmt != nil {
		return p.StmtContext(ctx, stmt).QueryRowContext(ctx, args...)
	}
	return p.Tx.QueryRowContext(ctx, query, args...)
}
