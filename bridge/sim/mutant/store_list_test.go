package mutant

// funds: rules 7 and 10. Money, and who writes it.
var funds = []mutant{
	{
		"a hold may exceed its budgets", 7,
		[]edit{{
			"bridge/store/money.go",
			"\t\tif len(short) > 0 {\n\t\t\treturn &OverBudget{short[0].balance, next.Hold}\n\t\t}\n",
			"\t\t_ = short\n",
		}},
		in(stores, "TestManyReservationsAtOnce", "TestI02NoInterleavingOfAdmissionsExceedsABudget"),
	},
	{
		"an extension may exceed its budgets", 7,
		[]edit{{
			"bridge/store/money.go",
			"\t\tif len(short) > 0 {\n\t\t\treturn &OverBudget{short[0].balance, more}\n\t\t}\n",
			"\t\t_ = short\n",
		}},
		in(stores, "TestRentalLivesFromHoldToSettlement"),
	},
	{
		"an approver exceeds a hard budget", 7,
		[]edit{{"bridge/store/money.go", "\t\t\tif over.budget.Hard {\n", "\t\t\tif over.budget.Hard && over.missing.Micro < 0 {\n"}},
		in(stores, "TestApprovalWritesOverageAndHoldTogether", "TestStoreKeepsTheBooksWhateverHappens"),
	},
	{
		"the rest of a hold is not returned", 7,
		[]edit{{"bridge/ledger/hold.go", "\tclosed := posted\n\tclosed.Closed = true\n", "\tclosed := posted\n"}},
		in(stores, "TestRentalLivesFromHoldToSettlement"),
	},
	{
		"a hold is changed with no entry in the ledger", 7,
		[]edit{{
			"bridge/store/rental.go",
			"\t\tif was.State.Held() != next.State.Held() || was.Hold != next.Hold && was.State.Held() || was.Cost != next.Cost || was.Key != next.Key {\n",
			"\t\tif was.Key != next.Key {\n",
		}},
		in(stores, "TestSaveAllowsOneEventAndNoChangeOfHold", "TestWritesThatAreRefusedLeaveNoTrace"),
	},
	{
		"news are told after the change they tell of", 7,
		[]edit{{
			"bridge/store/rental.go",
			"\t\treturn w.tell(ctx, news)\n\t})\n\tif err != nil {\n\t\treturn r, fmt.Errorf(\"%s rental %s: %w\", what, r.ID, err)\n",
			"\t\treturn nil\n\t})\n\tif err == nil {\n\t\terr = s.Tell(ctx, news...)\n\t}\n\tif err != nil {\n\t\treturn r, fmt.Errorf(\"%s rental %s: %w\", what, r.ID, err)\n",
		}},
		in(stores, "TestKilledAtEveryRowOfAWrite"),
	},
	{
		"an older bridge writes", 10,
		[]edit{{"bridge/store/write.go", "\tif epoch != s.epoch { // I24", "\tif epoch < s.epoch { // I24"}},
		in(stores, "TestOnlyTheLatestEpochWrites", "TestAnOldEpochSendsNothing"),
	},
	{
		"two bridges open one store", 10,
		[]edit{{"bridge/store/open.go", "\tif !ok {\n\t\twho := \"another process\"\n", "\tif !ok && path == \"\" {\n\t\twho := \"another process\"\n"}},
		in(stores, "TestOneProcessHasTheStore"),
	},
	{
		"a rental that somebody else changed is overwritten", 10,
		[]edit{{"bridge/store/rental.go", "\tif was.Version != next.Version {\n", "\tif was.Version < next.Version {\n"}},
		in(stores, "TestWritesThatAreRefusedLeaveNoTrace", "TestManyAnswersAtOnce"),
	},
	{
		"a ticket enrols a machine from two places", 10,
		[]edit{{"bridge/store/claim.go", "\t\tcase first != address:\n", "\t\tcase first == \"\":\n"}},
		in(stores, "TestMachinesEnrolOnce"),
	},
}

// people: rules 9 and 13. What people say, and what it does.
var people = []mutant{
	{
		"a click is acknowledged before it is stored", 9,
		[]edit{{
			"bot/socket.go",
			"\tanswer, err := b.take(ctx, f, r.Payload, nil)\n",
			"\tif err := c.SendCtx(ctx, socketmode.Response{EnvelopeID: r.EnvelopeID}); err != nil {\n\t\treturn\n\t}\n\tanswer, err := b.take(ctx, f, r.Payload, nil)\n",
		}},
		in(bots, "TestB_F12_AStalledDiskIsToldInTimeAndNothingIsDone", "TestWhatWasAcknowledgedIsDoneByTheNextProcess"),
	},
	{
		"a delivery that comes twice is new twice", 9,
		[]edit{{"bridge/store/parcel.go", "\t\t\tfresh[i] = n == 1\n", "\t\t\tfresh[i] = n >= 0\n"}},
		in(stores, "TestKnocksAreAnsweredOnceAlsoAfterARestart"),
	},
	{
		"what was answered is answered again", 9,
		[]edit{{"bridge/store/parcel.go", "set done = 1, body = '' where key = ? and done = 0`", "set done = 1, body = '' where key = ?`"}},
		in(stores, "TestKnocksAreAnsweredOnceAlsoAfterARestart"),
	},
	{
		"an old click answers a new question", 13,
		[]edit{{"bridge/store/money.go", "\tcase another || d.Rental != next.ID || d.Version != was.Version:\n", "\tcase another && d.Rental != next.ID:\n"}},
		in(stores, "TestAnswersThatDoNotFitTheQuestion", "TestAChangedQuestionIsANewOne"),
	},
	{
		"what is approved is not what was asked", 13,
		[]edit{{"bridge/store/money.go", "\treturn sameQuestion(was, next)\n", "\treturn nil\n"}},
		in(stores, "TestAnswersThatDoNotFitTheQuestion"),
	},
	{
		"a question is answered after its time", 13,
		[]edit{{"bridge/store/money.go", "\tcase !was.AskUntil.IsZero() && !w.now.Before(was.AskUntil):\n", "\tcase !was.AskUntil.IsZero() && w.now.IsZero():\n"}},
		in(stores, "TestB_F5_AYesAfterTheEndIsRefusedInTheTransaction"),
	},
	{
		"a requester decides", 13,
		[]edit{{"bridge/store/money.go", "\tcase d.Who == \"\" || d.Who == was.Requester || was.Agreed(d.Who):\n", "\tcase d.Who == \"\" || was.Agreed(d.Who):\n"}},
		in(stores, "TestAnswersThatDoNotFitTheQuestion"),
	},
	{
		"one person says both yeses", 13,
		[]edit{{"bridge/store/money.go", "\tcase d.Who == \"\" || d.Who == was.Requester || was.Agreed(d.Who):\n", "\tcase d.Who == \"\" || d.Who == was.Requester:\n"}},
		in(stores, "TestTheFirstOfTwoYesesIsDurable"),
	},
}
