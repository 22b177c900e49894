// Package contract sells what is paid for anyway: machines of a reservation, a
// capacity block or a savings plan with a cloud. Around that cloud's adapter it
// adds, for each contract that has begun and not ended, offers of market reserved
// that cost nothing more, as many as the contract has left.
//
// To the cloud such a machine is one on demand, with a tag that names the
// contract: that is how its own billing applies the contract, and how the machine
// is known for what it is from a list alone, whatever became of our books.
package contract
