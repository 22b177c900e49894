package chart

import "testing"

func TestAxesHaveRoundSteps(t *testing.T) {
	for _, c := range []struct {
		name  string
		most  float64
		steps int
		whole bool
		want  []string
	}{
		{"thousands", 3246.21, 5, false, []string{"0", "1000", "2000", "3000", "4000"}},
		{"just a step", 5000, 5, false, []string{"0", "1000", "2000", "3000", "4000", "5000"}},
		{"cents", 0.07, 5, false, []string{"0.00", "0.02", "0.04", "0.06", "0.08"}},
		{"quarters", 11, 5, false, []string{"0.0", "2.5", "5.0", "7.5", "10.0", "12.5"}},
		{"GPUs", 11, 5, true, []string{"0", "3", "6", "9", "12"}},
		{"one GPU", 1, 5, true, []string{"0", "1"}},
		{"nothing", 0, 4, false, []string{"0.00", "0.25", "0.50", "0.75", "1.00"}},
		{"millions", 4.2e6, 4, false, []string{"0", "2000000", "4000000", "6000000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := axisTo(c.most, c.steps, c.whole)
			if a.top < c.most {
				t.Errorf("it ends at %v", a.top)
			}
			var got []string
			for _, v := range a.ticks() {
				got = append(got, a.label(v))
			}
			if len(got) != len(c.want) {
				t.Fatalf("%q, want %q", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Fatalf("%q, want %q", got, c.want)
				}
			}
		})
	}
}
