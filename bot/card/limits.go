package card

// Slack's limits, in characters and counts.
const (
	maxBlocks     = 50     // of a message
	maxViewBlocks = 100    // of a form or a home tab
	maxAllText    = 12_000 // of a message, all together; Slack's own limit is about 13,200
	maxText       = 4_000  // the line of a notification

	maxHeader       = 150
	maxSection      = 3_000
	maxFields       = 10
	maxField        = 2_000
	maxContext      = 10 // elements
	maxContextText  = 3_000
	maxActions      = 25 // elements
	maxID           = 255
	maxButton       = 75
	maxValue        = 2_000
	maxURL          = 3_000
	maxLabel        = 75 // for screen readers
	maxConfirmTitle = 100
	maxConfirmText  = 300
	maxConfirmWord  = 30
	maxOption       = 75
	maxOptions      = 100
	maxPlaceholder  = 150
	maxInput        = 3_000
	maxInputLabel   = 2_000
	maxTitle        = 24 // of a form, and its two buttons
	maxPrivate      = 3_000
	maxRows         = 100 // of a table
	maxCells        = 20
	maxTables       = 1 // of a message
	maxCharts       = 2
	maxSeries       = 6 // of a chart
	maxPoints       = 20
	maxChartTitle   = 50
	maxChartLabel   = 20
)
