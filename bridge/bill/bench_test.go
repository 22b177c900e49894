package bill

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// month is a bill of so many rentals with so many hours each, and their books.
func month(rentals, hours int) (string, Books) {
	var b strings.Builder
	b.WriteString(focusHeader)
	out := books()
	for i := range rentals {
		id, from := bridge.NewRentalID(int64(i+1)), at(1+i%20, i%24, 0)
		machine := fmt.Sprintf("i-%06d", i)
		out.Rentals = append(out.Rentals, rental(id, machine, from, from.Add(time.Duration(hours)*time.Hour)))
		for h := range hours {
			b.WriteString(focusRow("4.10", "Usage", "", from.Add(time.Duration(h)*time.Hour).Format(time.RFC3339), from.Add(time.Duration(h+1)*time.Hour).Format(time.RFC3339),
				machine, fmt.Sprintf(`"{""spillway-rental"":""%s""}"`, id)))
		}
	}
	return b.String(), out
}

// A month of 100,000 lines of 2,000 rentals: reading it.
func BenchmarkRead100000Lines(b *testing.B) {
	text, _ := month(2000, 50)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		f, err := Read(strings.NewReader(text), Options{Cloud: "north", Now: now})
		if err != nil || len(f.Lines) != 100_000 {
			b.Fatal(err)
		}
	}
}

// The same month: comparing it with the books.
func BenchmarkMatch100000Lines(b *testing.B) {
	text, books := month(2000, 50)
	f, err := Read(strings.NewReader(text), Options{Cloud: "north", Now: now})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Match(f.Lines, books)
		if err != nil || len(s.Differing) != 2000 {
			b.Fatal(len(s.Differing), err)
		}
	}
}
