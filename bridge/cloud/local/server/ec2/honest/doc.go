// Package honest holds that the local cloud's EC2 is EC2 to clients that know
// nothing of Spillway: Debian's AWS command line and boto3, a newer generation of
// both where the machine has one, and AWS's own SDK for Go. Each of them takes
// the same steps in a world of its own. They send the same requests, get the same
// refusals, and understand the same of every answer; our own driver asks in the
// words that they would ask in. What another emulator of EC2, moto 5.2.1, answered
// to the same steps is kept in testdata, next to what the local cloud answers.
//
// It is test code only.
package honest
