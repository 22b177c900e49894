package demo

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/samber/lo"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
)

// feed follows Spillway's record of what happens, as any person can.
type feed struct {
	mu   sync.Mutex
	news []bridge.News
	over chan struct{}
}

// follow reads the news until ctx ends and tells each as it comes. A daemon
// that restarts meanwhile is waited for; nothing is missed or told twice.
func follow(ctx context.Context, path string, s *story) *feed {
	f := &feed{over: make(chan struct{})}
	go func() {
		defer close(f.over)
		c := socket.NewClient(path)
		defer c.Close()
		for after := int64(0); ctx.Err() == nil; {
			a, err := socket.Call(ctx, c, desk.AskNews, desk.NewsRequest{After: after, Limit: 1000, Wait: 5})
			if err != nil {
				select {
				case <-ctx.Done():
				case <-time.After(200 * time.Millisecond):
				}
				continue
			}
			after = a.Next
			f.add(a.News)
			for _, n := range a.News {
				s.news(n)
			}
		}
	}()
	return f
}

// wait returns when the feed's goroutine has ended.
func (f *feed) wait() { <-f.over }

func (f *feed) add(news []bridge.News) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.news = append(f.news, news...)
}

func (f *feed) all() []bridge.News {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.news)
}

// of returns the news of one kind so far.
func (f *feed) of(kind bridge.NewsKind) []bridge.News {
	return lo.Filter(f.all(), func(n bridge.News, _ int) bool { return n.Kind == kind })
}

// took returns the figures of one kind of news.
func (f *feed) took(kind bridge.NewsKind) []time.Duration {
	return lo.Map(f.of(kind), func(n bridge.News, _ int) time.Duration { return n.Took })
}
