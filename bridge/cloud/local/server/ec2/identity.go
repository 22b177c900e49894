package ec2

type callerIdentity struct {
	ARN     string `xml:"GetCallerIdentityResult>Arn"`
	User    string `xml:"GetCallerIdentityResult>UserId"`
	Account string `xml:"GetCallerIdentityResult>Account"`
	ID      string `xml:"ResponseMetadata>RequestId"`
}

func (c *callerIdentity) stamp(id string) { c.ID = id }

func (q *request) callerIdentity() (any, *Refusal) {
	return &callerIdentity{ARN: "arn:aws:iam::" + q.owner() + ":user/" + q.Account, User: q.Cloud + "-" + q.Account, Account: q.owner()}, nil
}
