package aws

import (
	"context"
	"sync"
	"time"
)

// restAfter is how long a question that failed is not asked again.
const restAfter = time.Minute

// cell keeps an answer for a while. Who asks for it at the same time gets the
// same one.
type cell[T any] struct {
	mu     sync.Mutex
	value  T
	at     time.Time // zero: there is none
	failed time.Time
	err    error
}

// get returns the answer, not older than age where it can be had, and when it was
// given. When asking fails, the last answer comes together with the error.
func (c *cell[T]) get(ctx context.Context, now func() time.Time, age time.Duration, ask func(context.Context) (T, error)) (T, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := now()
	switch {
	case !c.at.IsZero() && asked.Sub(c.at) < age:
		return c.value, c.at, nil
	case c.err != nil && asked.Sub(c.failed) < restAfter:
		return c.value, c.at, c.err
	}
	value, err := ask(ctx)
	if err != nil {
		if ctx.Err() == nil { // a caller that gave up says nothing of the cloud
			c.failed, c.err = asked, err
		}
		return c.value, c.at, err
	}
	c.value, c.at, c.err = value, asked, nil
	return value, asked, nil
}

// last returns the answer as it is, without asking.
func (c *cell[T]) last() (T, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, c.at
}

// age makes the answer an old one.
func (c *cell[T]) age() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(-time.Hour * 24 * 365)
}
