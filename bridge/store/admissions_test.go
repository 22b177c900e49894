package store_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// BenchmarkAdmissions lets fifty people ask 10,000 times at once against five
// levels of budgets, and fails if any was ever exceeded. Beside it stand 10,000
// bare commits of one row by as many people, on the same disk with the same sync.
func BenchmarkAdmissions(b *testing.B) {
	const people, times = 50, 200
	var admitting, bare time.Duration
	admitted := int64(0)
	for b.Loop() {
		tree := newTree(b, b.TempDir(), 2500)
		start := time.Now()
		got := tree.rush(b, people, times)
		admitting += time.Since(start)
		admitted += got.admitted
		if tree.never(b); got.admitted+got.refused != people*times || got.refused == 0 {
			b.Errorf("%+v of %d", got, people*times)
		}
		b.StopTimer()
		checked(b, tree.s)
		bare += commits(b, people, times)
		b.StartTimer()
	}
	rate := float64(people*times*b.N) / admitting.Seconds()
	commit := float64(people*times*b.N) / bare.Seconds()
	b.ReportMetric(rate, "admissions/s")
	b.ReportMetric(commit, "bare-commits/s")
	b.ReportMetric(rate/commit, "of-bare")
	b.ReportMetric(float64(admitted)/float64(b.N), "admitted")
}

// commits is how long bare commits of one row take.
func commits(b *testing.B, people, times int) time.Duration {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "bare.db")+"?_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(b.Context(), `create table t (n integer primary key, body text)`); err != nil {
		b.Fatal(err)
	}
	insert, err := db.PrepareContext(b.Context(), `insert into t (body) values ('a row')`)
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	var wg sync.WaitGroup
	for range people {
		wg.Go(func() {
			for range times {
				if _, err := insert.ExecContext(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	if err := errors.Join(insert.Close(), db.Close()); err != nil {
		b.Fatal(err)
	}
	return took
}
