package main

import (
	"log/slog"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/aws"
	"spillway.sh/spillway/bridge/config"
	"spillway.sh/spillway/bridge/engine"
)

// awsLimits keep all clouds of this process under what their accounts are allowed.
var awsLimits = aws.NewLimits(1)

// awsOf is the adapter of an account of EC2.
func awsOf(c *config.Cloud) (engine.Cloud, error) {
	a := c.AWS
	settings := aws.Config{
		Name: c.Name, Types: a.Types, KeyName: a.KeyName, InstanceProfile: a.InstanceProfile, Disk: a.DiskGiB, EFA: a.EFA,
		Reserve: a.ReservePercent, Features: a.Features, Boot: a.Boot, Profile: a.Profile, CredentialsFile: a.CredentialsFile,
		Role: a.Role, Endpoint: a.Endpoint, Timeout: a.Timeout, Limits: awsLimits, Log: slog.Default(),
	}
	for _, m := range a.Markets {
		settings.Markets = append(settings.Markets, bridge.Market(m))
	}
	for _, r := range a.Regions {
		settings.Regions = append(settings.Regions, aws.Region(r))
	}
	cloud, err := aws.New(settings)
	if err != nil {
		return nil, err
	}
	return cloud, nil
}
