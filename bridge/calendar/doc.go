// Package calendar does what is due by the clock and not by the queue: alerts
// of budgets, the ends of their periods, the daily line, the weekly report, and
// tasks of the daemon by the minute and by the night.
//
// Nothing hangs on a timer being right. Each minute the latest instant of every
// kind that has passed is worked out from calendar dates in its own zone, and told under a
// name that has the date or the period in it, which the store takes once. So
// a clock that is put forward or back, a restart, a second daemon or three days
// of downtime neither lose anything nor tell it twice; of what was due while nobody
// was there the latest of each kind is told.
package calendar
