// Package crash puts hooks round every port of a bridge: before a call's effect,
// and after it. A Doom is the hook that kills a bridge at one of those points; a
// recorder of calls is another. A port's new method does not compile until it is
// here, and a new port fails this package's tests until it is.
//
// A point is written "Port.Method N before" or "Port.Method N after": the n-th
// call of that method in one life of a bridge, before its effect, or after the
// effect and before the answer.
package crash
