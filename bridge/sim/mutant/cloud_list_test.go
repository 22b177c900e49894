package mutant

// cloudy: what the faults of clouds must not bring about.
var cloudy = []mutant{
	{
		"one of many machines that never joins is kept", 6,
		[]edit{{
			"bridge/engine/join.go",
			"\t\tif m := &r.Machines[i]; m.State == bridge.MachineCreated || m.State == bridge.MachineIntended {\n\t\t\tm.State = bridge.MachineReleasing\n",
			"\t\tif m := &r.Machines[i]; m.State == bridge.MachineIntended {\n\t\t\tm.State = bridge.MachineReleasing\n",
		}},
		in(engines, "TestC_F02_OneInTenOfManyNeverJoinsAndNoneIsLeft"),
	},
	{
		"a machine whose scheduler does not hear it is lost", 4,
		[]edit{{
			"bridge/engine/sweep.go",
			"\tif in.State == bridge.InstanceGone {\n\t\treturn append(news,",
			"\tif q := c.queues[r.Cluster]; in.State == bridge.InstanceGone || q != nil && m.State == bridge.MachineJoined && q.nodes[m.Node] != nil && !q.nodes[m.Node].Responding {\n\t\treturn append(news,",
		}},
		in(engines, "TestC_F13_SilenceOfANodeIsAskedOfItsCloud"),
	},
	{
		"a sold-out pool rests for ever", 12,
		[]edit{{"bridge/rested.go", "h.DownUntil = now, kind, code, now.Add(rest)\n", "h.DownUntil = now, kind, code, now.Add(rest+10000*time.Hour)\n"}},
		in(engines, "TestC_F18_StockoutLeavesNoNodeAndNeedsNobody"),
	},
	{
		"an idle time is not the rental's own", 6,
		[]edit{{"bridge/idle.go", "until := since.Add(r.Idle)\n", "until := since\n"}},
		in(engines, "TestC_F21_IdleTimeIsTheRentals"),
	},
	{
		"what runs already is bought again", 7,
		[]edit{{"bridge/gates.go", "\tif c.already != nil {\n", "\tif c.already != nil && l == nil {\n"}},
		in(engines, "TestC_F30_MachineThatItsCloudRestartedIsNoNewOne"),
	},
	{
		"what is on its way is bought again", 7,
		[]edit{{
			"bridge/served.go",
			"if r.Cluster == c.q.Cluster && serves(r.State) {",
			"if r.Cluster == c.q.Cluster && serves(r.State) && r.State == StateAdmitted {",
		}},
		in(engines, "TestC_F28_StatusThatLagsBuysNothingTwice"),
	},
	{
		"EC2 is asked with another token each time", 1,
		[]edit{{"bridge/cloud/aws/create.go", "ClientToken: aws.String(l.Token)", "ClientToken: aws.String(fmt.Sprint(time.Now().UnixNano()))"}},
		in("bridge/cloud/aws", "TestC_F08_FiftyKillsBetweenAcceptAndReplyMakeNoSecondMachine"),
	},
	{
		"Nova is not read before a create", 1,
		[]edit{{"bridge/cloud/openstack/create.go", "\tif there {\n", "\tif there && l.Count < 1 {\n"}},
		in("bridge/cloud/openstack", "TestC_F08_FiftyKillsBetweenAcceptAndReplyMakeNoSecondMachine"),
	},
}
