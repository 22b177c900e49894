// Package metadatatest plays the metadata services of clouds, as strict as
// theirs: it asks for their headers, refuses what they refuse, says nothing of a
// notice until there is one, and writes times as they do. A [Service] of each can
// be told to hang, to fail and to answer rubbish.
//
//	s := metadatatest.NewGCP("4711")
//	server := httptest.NewServer(s)
//	s.Preempt(true)
package metadatatest
