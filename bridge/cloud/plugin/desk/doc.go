// Package desk is a plugin's cloud of machines that come by ticket: for vendors
// who have people and no interface. A create writes an order and has a channel
// told; a person brings the machines and says where they are, or refuses. In the
// end the return is ordered, and the meter stops when a person confirms it.
//
// Everything is kept before it is told. A letter is written in the same step as
// what it tells of, and is sent until each channel took it: once, but for a
// process that is killed between a channel's yes and the disk's. Each carries an
// id, by which it can be known again.
package desk
