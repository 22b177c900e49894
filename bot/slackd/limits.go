package slackd

// What Slack takes, in characters unless the name says otherwise. This is the
// judge's own table: it is written from Slack's documents and shares nothing
// with the bot's. Where documents differ, the smaller figure is used.
const (
	maxMessageBlocks = 50
	maxViewBlocks    = 100
	// maxMessageText is of all texts of a message's blocks together; it is not
	// documented, messages above it come back with msg_blocks_too_long.
	maxMessageText = 13200
	maxPostText    = 40000 // top-level text of a post
	maxUpdateText  = 4000  // ... and of chat.update
	maxMetadata    = 8 << 10

	maxID       = 255 // block_id, action_id, callback_id, external_id
	maxHeader   = 150
	maxSection  = 3000
	maxFields   = 10
	maxField    = 2000
	maxContext  = 10
	maxActions  = 25
	maxMarkdown = 12000
	maxImageURL = 3000
	maxAlt      = 2000
	maxTitle    = 2000 // of an image
	maxLabel    = 2000 // of an input
	maxHint     = 2000
	maxAlert    = 200

	maxButtonText    = 75
	maxButtonValue   = 2000
	maxURL           = 3000
	maxAccessibility = 75
	maxConfirmTitle  = 100
	maxConfirmText   = 300
	maxConfirmButton = 30
	maxOptionText    = 75
	maxOptionValue   = 75
	maxOptionHint    = 75
	maxOptions       = 100
	maxOptionGroups  = 100
	maxGroupLabel    = 75
	maxOverflow      = 5
	minOverflow      = 1
	maxChoices       = 10 // of radio buttons and checkboxes
	maxPlaceholder   = 150
	maxInputLength   = 3000

	maxViewTitle    = 24 // and submit, close
	maxPrivate      = 3000
	maxViewStack    = 3
	maxViewBytes    = 250 << 10
	maxContainer    = 10
	maxTables       = 1
	maxTableRows    = 100
	maxTableColumns = 20
	maxDataRows     = 101 // header and 100
	maxPageSize     = 100

	maxCharts     = 2 // of a message
	maxChartTitle = 50
	maxSegments   = 6
	maxSeries     = 6
	maxPoints     = 20
	maxChartLabel = 20
	maxAxisLabel  = 50

	maxCommand     = 32 // name of a slash command
	maxCommandText = 2000
	maxCommandHint = 1000

	// maxResponsePayload is where Slack begins to drop a Socket Mode answer,
	// in bytes and without a word.
	maxResponsePayload = 20 << 10
	maxConnections     = 10
	maxResponseURL     = 5 // posts
	maxBody            = 1 << 20
	maxUpload          = 16 << 20
)
