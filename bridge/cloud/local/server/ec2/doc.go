// Package ec2 lets customers of the local cloud speak AWS's words: EC2 Query, STS,
// the price list and the service quotas. It is another wire format on the same
// world; stock, prices, quotas, limits, faults, lag and ledger are package
// server's, and machines of both formats are seen in both.
//
// # Where and who
//
// All services of a cloud are at one address, http://HOST:PORT/aws/CLOUD; which of
// them is meant is what a request is signed for: ec2, sts, pricing or
// servicequotas. The region, too, is that of the signature. The access key id is
// CLOUD-ACCOUNT, as the account's token file is called, and the secret is what is
// in it. Signatures are computed anew with the SDK's own signer. A date that is
// more than 15 minutes off is RequestExpired. There are no session tokens, and no
// signatures in a URL.
//
// # What is checked
//
// Each request is held against AWS's own description of its operation, model.json,
// an extract of the models in github.com/aws/aws-sdk-go v1.55.8 (Apache License
// 2.0), which a test makes anew and compares. An operation that is not served is
// InvalidAction, a parameter that the model does not have UnknownParameter, one
// that is missing MissingParameter, a value that cannot be one
// InvalidParameterValue. The names of instance types are the world's and not the
// model's. Patterns of the model are not checked.
//
// What the model has and the world does not is UnsupportedOperation; nothing is
// passed over in silence. These are taken and have no effect:
//
//	RunInstances               BlockDeviceMapping.Ebs.Encrypted, .Iops, .Throughput, .VolumeType
//	                           EbsOptimized
//	                           MetadataOptions.HttpPutResponseHopLimit
//	                           Monitoring.Enabled
//	                           NetworkInterface.AssociatePublicIpAddress, .Description
//	DescribeImages             IncludeDeprecated, IncludeDisabled
//	DescribeAvailabilityZones  AllAvailabilityZones
//	DescribeRegions            AllRegions
//
// Tags of volumes, network interfaces and spot requests are checked and forgotten:
// only machines keep theirs. Those of a spot request need the spot market.
//
// # The world in EC2's words
//
// Each region has one image, x86_64 with an 8 GiB disk at /dev/xvda; each zone one
// subnet; each region one security group, default. Their ids are derived from the
// names of cloud, account, region and zone and stay.
//
// RunInstances makes as many of MaxCount as there are, MinCount at least, or none,
// once for each ClientToken. Its machines have no end of the cloud's own: they end
// when terminated, when reclaimed and when they switch themselves off, for which
// InstanceInitiatedShutdownBehavior must be terminate, as nothing can be stopped
// here. Who names neither subnet nor zone gets the first zone that has the type.
// Without a MaxPrice the ceiling of a spot machine is the price on demand. A
// machine keeps the price that it was made at. HttpTokens=required closes its
// metadata service to those without a session token; its tags are in there with
// InstanceMetadataTags=enabled.
//
// A lack of stock is InsufficientInstanceCapacity, whatever shape the pool has for
// it, but one: where that is "instances", as in the fault "partial", machines come
// up pending and are found terminated, with the StateReason
// Server.InsufficientInstanceCapacity. Quotas are told as
// MaxSpotInstanceCountExceeded, on demand as InstanceLimitExceeded if they count
// machines and as VcpuLimitExceeded else. Those in vCPUs, of the families p, p5, g
// and standard, can be read as service quotas; GetProducts has the prices on demand, by
// region, the highest if its zones differ.
//
// CreateTags has a rate limit of its own, 10 a second and 100 at once. EC2's limits
// count by account and region; those of each other service for themselves.
//
// The faults of the operator name operations of the world or of EC2: create or
// RunInstances, list (DescribeInstances, DescribeInstanceStatus), terminate, update
// (CreateTags, DeleteTags), offers (types, offerings, prices, scores, quotas), get
// (all else that is told).
package ec2
