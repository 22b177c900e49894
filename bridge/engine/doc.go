// Package engine is the only place that orders side effects. One file is one
// step of the flow; reading them in the order of Cycle is reading the product.
//
// Every step is safe to repeat: it reads the store, does the next thing, and
// records it. A step that fails is recorded and never stops release, settle
// and sweep.
package engine
