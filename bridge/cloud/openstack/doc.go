// Package openstack rents machines of an OpenStack cloud: one project in one
// region, by Nova's API of microversion 2.69 or later.
//
// Nova makes machines for each create it is sent, whatever their name. So the
// whole list is read before one is sent, and each request carries a mark of its
// own: should two have been answered after all, the machines of the later one are
// ended when the create is looked at.
//
// A lack of room is told late, by machines in state ERROR. Those that came beside
// them are ended, and the create is refused once nothing of it is left.
//
// A private cloud has no list of prices. What a machine costs is the site's own
// word, in the configuration, by flavor.
package openstack
