// Package aws is Amazon EC2 as the engine sees it, by AWS's own SDK. Its [Cloud]
// is one account in the regions that the configuration names; it also extends and
// examines.
//
// A create is one RunInstances with as many machines at least as at most: EC2
// makes all of them or none, in one subnet, of one type, under the launch's token
// and with all tags in the call, so that a machine is never without its owner.
// CreateFleet does not do it better: it needs a launch template for each rental,
// which is one more thing to lose, and answers successes and errors together.
//
// The driver never repeats a call, and keeps the SDK from doing so: what is sent
// again is the engine's decision, with the same token. Whatever is not clearly a
// refusal is bridge.CloudUnknown. Limits are kept by [Limits], one for all clouds
// of a site, so that two of them in one account do not push each other over what
// EC2 allows.
//
// EC2 charges spot machines what the market asks, below the ceiling, and machines
// on demand what the price list says. It has no ceiling for the latter: the driver
// looks at the price before it asks. Neither holds disks, addresses and traffic,
// see deploy/docs/clouds/aws.md.
package aws
