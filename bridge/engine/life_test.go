package engine_test

import (
	"testing"
	"time"
)

func TestQueueOverflowsAndDrainsAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.submit("1", 1, 8, time.Minute)
		w.cluster.submit("2", 1, 8, time.Minute)
		w.start()
		w.until(10*time.Minute, "both jobs done", func() bool { return w.job("1").state == "done" && w.job("2").state == "done" })
		w.settled(5 * time.Minute)
		if n := w.a.made(); n != 2 || w.b.made() != 0 {
			t.Errorf("%d machines on the cheaper cloud, %d on the other; want 2 and 0", n, w.b.made())
		}
	})
}
