// Package killed kills a driver between the moment at which its cloud has
// accepted a create and the moment at which it learns of that, again and again.
// Each time another process takes the create up as the engine does: it was
// frozen on disk before it was sent, and is made again as it was. What comes of
// it is judged by the cloud's own ledger alone: one machine for each create, and
// none that nobody owns.
package killed
