// Package usage keeps what GPUs do, by the hour: how many the clusters' own
// nodes and rented machines have, how many of them are allocated to jobs, how
// many more pending jobs could use, and how busy the rented ones were where a
// Prometheus knows that.
//
// Sample is pure; Recorder calls it each minute on the engine's latest look and
// adds the result to the store; Prometheus asks for utilisation. What nobody
// looked at is not counted: a Usage says of how many seconds it is.
package usage
