package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// ErrKilled is what every call of a bridge returns from its death on.
var ErrKilled = errors.New("the bridge was killed")

// Doom kills a bridge at one point of its first life, at another of its second,
// and so on. Methods may be called by several goroutines.
type Doom struct {
	at []string // of each life

	mu    sync.Mutex
	lives []*life
}

// life is one life of a bridge, with the points at which it may end.
type life struct {
	at     []string
	mu     sync.Mutex
	calls  map[string]int // by name
	passed []string
	dead   chan struct{}
	struck bool
}

// New kills the first life at the first point, the second at the second; from
// then on, and at an empty point, bridges live on. Of several points, with
// commas between them, a life ends at the one that it comes to first.
func New(at ...string) *Doom { return &Doom{at: at} }

// life is that of a number, from 1.
func (d *Doom) life(n int) *life {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.lives) < n {
		l := &life{calls: map[string]int{}, dead: make(chan struct{})}
		if i := len(d.lives); i < len(d.at) {
			l.at = strings.Split(d.at[i], ",")
		}
		d.lives = append(d.lives, l)
	}
	return d.lives[n-1]
}

// Wrap is a Wrap: all ports of that life are doomed.
func (d *Doom) Wrap(life int, p Ports) Ports { return Through(p, d.life(life).around) }

// Around is the hook of one life.
func (d *Doom) Around(life int) Around { return d.life(life).around }

// Died is closed when that life has come to its point. No call of it has an
// effect any more, but for those that were under way.
func (d *Doom) Died(life int) <-chan struct{} { return d.life(life).dead }

// Struck reports whether that life has come to its point.
func (d *Doom) Struck(life int) bool {
	l := d.life(life)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.struck
}

// Passed are the points that a life has come to, its last one included, in order.
func (d *Doom) Passed(life int) []string {
	l := d.life(life)
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.passed)
}

// around makes a call unless this life is over.
func (l *life) around(ctx context.Context, c *Call, do func(context.Context) error) error {
	n, err := l.begin(c)
	if err != nil {
		return err
	}
	done := do(ctx)
	if err := l.pass(fmt.Sprintf("%s.%s %d after", c.Port, c.Method, n)); err != nil {
		return err
	}
	return done
}

// begin counts a call and comes to the point before it.
func (l *life) begin(c *Call) (int, error) {
	name := c.Port + "." + c.Method
	l.mu.Lock()
	l.calls[name]++
	n := l.calls[name]
	l.mu.Unlock()
	return n, l.pass(fmt.Sprintf("%s %d before", name, n))
}

// pass comes to a point: ErrKilled when it is the last, or came after it.
func (l *life) pass(point string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.struck {
		return ErrKilled
	}
	l.passed = append(l.passed, point)
	if slices.Contains(l.at, point) {
		l.struck = true
		close(l.dead)
		return ErrKilled
	}
	return nil
}
