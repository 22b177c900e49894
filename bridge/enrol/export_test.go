package enrol

import "spillway.sh/spillway/bridge"

// LeasesForTest are the leases of a rental's machines.
func LeasesForTest(s *Server, r *bridge.Rental) []string {
	var out []string
	for _, m := range r.Machines {
		out = append(out, lease{r.ID, m.ID}.seal(s.secret))
	}
	return out
}
