// Package mutant removes the guards of the protocol of money and machines, one
// at a time, and sees whether the tests notice. It is test code only: a mutant
// is a text of a source file with another in its place, compiled by means of
// the go command's -overlay from a copy elsewhere, so nothing of it is ever in
// the tree or in the binary.
//
// A mutant whose text is not found, or found twice, or that does not compile,
// fails the suite: the guard has moved, and its mutant has to follow it. So does
// one that survives its tests: a guard that nothing holds.
//
// The rules that the guards belong to, by number:
//
//  1. Hold and intent are stored before a create is sent.
//  2. Tags travel with the create, and are enough to rebuild the books.
//  3. An outcome is created, refused or unknown; unknown is no failure.
//  4. Only complete and fresh views prove absence.
//  5. An orphan is ours by tag and store, old, in two complete lists, and idle.
//  6. A machine ends at its time, whoever is away.
//  7. Money is held before, posted while, and returned after.
//  8. A release waits for nobody.
//  9. What came from a person is stored, then acknowledged, then applied once.
//  10. One bridge writes.
//  11. Clocks that step back or leap end nothing.
//  12. Where too much fails at once, no new money flows.
//  13. People decide once, on the question that is open, never on their own.
//
// All of them: make mutants. One: go test -run TestMutants ./bridge/sim/mutant -mutants 'name'.
package mutant
