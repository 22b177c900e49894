package ec2

// ImageID is the image that a region of a cloud has.
func ImageID(cloud, region string) string { return id("ami", cloud, region) }
