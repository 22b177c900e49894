// Package node is the agent of a rented machine. It runs as root beside the
// scheduler's daemon, speaks for its own machine alone, and does in this order:
//
//	identify   ask the cloud which machine this is          identify.go
//	watch      the cloud's notices, from the first second   watch.go, a file a cloud
//	enrol      fetch what it needs to join, once            enrol.go, link.go
//	stage      run the site's own steps                     stage.go
//	check      look whether the machine is fit              gate.go and its checks
//	join       start the scheduler's daemon                 the Member it is given
//	report     to the bridge, every few seconds and at
//	           once when something changes                  beat.go
//
// From its first to its last moment it is the machine's dead man's switch
// (life.go): off at the end of the rental, whatever happens; off when the
// rental has ended; off when the bridge was not heard of for long and nothing
// runs. It counts on a clock that nobody can set.
//
// Restarted, it goes on where it was: what it was granted lies in its folder,
// secrets excepted, and jobs that run are not touched.
package node
