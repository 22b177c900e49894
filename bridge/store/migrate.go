package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

func migrate(ctx context.Context, db *sql.DB) error {
	if _, _, err := version(ctx, db); err != nil { // goose takes a damaged table for none
		return err
	}
	p, err := provider(db)
	if err != nil {
		return err
	}
	if err := notNewer(ctx, p); err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring schema up to date: %w", err)
	}
	return nil
}

// sameSchema refuses a schema this version does not know exactly.
func sameSchema(ctx context.Context, db *sql.DB) error {
	have, some, err := version(ctx, db)
	switch {
	case err != nil:
		return err
	case !some:
		return fault(ErrNoStore, nil)
	}
	p, err := provider(db)
	if err != nil {
		return err
	}
	switch known := newest(p); {
	case have > known:
		return fault(ErrNewer, fmt.Errorf("schema %d, this version knows %d", have, known))
	case have < known:
		return fault(ErrOlder, fmt.Errorf("schema %d, this version needs %d", have, known))
	}
	return nil
}

// version is that of a database's schema; false if it has none yet.
func version(ctx context.Context, db *sql.DB) (have int64, some bool, err error) {
	var tables int
	if err := db.QueryRowContext(ctx, `select count(*) from sqlite_schema where name = 'goose_db_version'`).Scan(&tables); err != nil || tables == 0 {
		return 0, false, err
	}
	err = db.QueryRowContext(ctx, `select coalesce(max(version_id), 0) from goose_db_version`).Scan(&have)
	return have, true, err
}

func notNewer(ctx context.Context, p *goose.Provider) error {
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if known := newest(p); have > known {
		return fault(ErrNewer, fmt.Errorf("schema %d, this version knows %d", have, known))
	}
	return nil
}

func provider(db *sql.DB) (*goose.Provider, error) {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, sub, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return p, nil
}

func newest(p *goose.Provider) int64 {
	sources := p.ListSources()
	return sources[len(sources)-1].Version
}
