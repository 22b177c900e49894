package talk

import (
	"encoding/json"
	"fmt"

	"github.com/slack-go/slack"
)

// UnmarshalJSON reads a message with its blocks, whatever their types are.
func (m *Message) UnmarshalJSON(data []byte) error {
	var raw struct {
		Text   string       `json:"text"`
		Blocks slack.Blocks `json:"blocks"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	m.Text, m.Blocks = raw.Text, raw.Blocks.BlockSet
	return nil
}
