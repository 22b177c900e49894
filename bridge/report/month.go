package report

// month adds what was spent by the end of each day of the month. Credits of
// another day can bring it down.
func (l *looked) month(s *Spend) {
	sum := int64(0)
	for i := range l.Month {
		sum = plus(sum, l.sum(l.Month[i].Sums, ""))
		s.Month = append(s.Month, MonthDay{l.Month[i].Name, l.money(up(sum))})
	}
}
