package bot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
)

// plainly shows a message again with less of its looks when Slack does not like
// them, first without charts, which not every workspace draws, then as text
// alone: what is said is never lost over its looks. What was refused is
// remembered for as long as the parcel waits, for each try is a call that Slack
// counts.
func (b *Bot) plainly(ctx context.Context, p *bridge.Parcel, m *talk.Message, do func(m *talk.Message) error) error {
	looks := []talk.Message{*m}
	if lean := chartless(m.Blocks); len(lean) < len(m.Blocks) {
		looks = append(looks, talk.Message{Text: m.Text, Blocks: lean})
	}
	if len(m.Blocks) > 0 {
		looks = append(looks, talk.Message{Text: short(m.Text)})
	}
	for i := min(b.outbox.looks(p.ID), len(looks)-1); ; i++ {
		err := do(&looks[i])
		if !isOneOf(err, formErrors) || i+1 == len(looks) {
			return err
		}
		b.outbox.refused(p.ID, i+1)
		if len(looks[i+1].Blocks) > 0 {
			b.log.WarnContext(ctx, "Slack refuses a message with a chart; it goes out without", "error", err)
			b.figure.dropped.WithLabelValues("chart").Inc()
			continue
		}
		b.log.ErrorContext(ctx, "Slack refuses the looks of a message; it goes out as text", "error", err)
		b.figure.dropped.WithLabelValues("blocks").Inc()
	}
}

// chartless are blocks without charts.
func chartless(blocks []slack.Block) []slack.Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b slack.Block) bool { return b.BlockType() == slack.MBTDataVisualization })
}

// picture puts the picture of a chart under a card that had to go out without
// the chart.
func (b *Bot) picture(ctx context.Context, p *bridge.Parcel, e *talk.Effect) error {
	if len(e.Files) == 0 || b.outbox.looks(p.ID) == 0 {
		return nil
	}
	ps, err := pack(nil, []talk.Effect{{Surface: talk.Upload, Lane: e.Lane, Key: e.Key, Channel: e.Channel, User: e.User, Files: e.Files, Once: "picture/" + e.Key}})
	if err != nil {
		return err
	}
	if err := b.o.Box.Send(ctx, ps); err != nil {
		return err
	}
	b.outbox.nudge()
	return nil
}

// bringUpload uploads files in Slack's three steps: an address for each, its
// bytes, and all of them shown in one message under the card.
func (b *Bot) bringUpload(ctx context.Context, p *bridge.Parcel, e *talk.Effect) error {
	copies, err := b.o.Box.Copies(ctx, e.Key)
	if err != nil {
		return err
	}
	if len(copies) == 0 {
		return &errDrop{"no thread", fmt.Errorf("the card %s is not shown", e.Key)}
	}
	channel, thread := b.threadOf(e, copies)
	if err := b.ownChannel(ctx, channel); err != nil {
		return err
	}
	up := b.outbox.uploaded(p.ID)
	for i := len(up); i < len(e.Files); i++ {
		id, err := b.uploadOne(ctx, p, &e.Files[i])
		if err != nil {
			return err
		}
		up = append(up, slack.FileSummary{ID: id, Title: e.Files[i].Title})
		b.outbox.keepUploaded(p.ID, up)
	}
	err = b.call(ctx, p, methodUploaded, "", func(ctx context.Context) error {
		_, err := b.o.Slack.CompleteUploadExternalContext(ctx, slack.CompleteUploadExternalParameters{
			Files: up, Channel: channel, ThreadTimestamp: thread, InitialComment: e.Message.Text,
		})
		return err
	})
	if err != nil {
		if _, waits := errors.AsType[*errWait](err); !waits && !passing(err) {
			b.outbox.keepUploaded(p.ID, nil) // they may be what Slack refuses
		}
		return err
	}
	return b.o.Box.Delivered(ctx, *p, time.Time{})
}

// uploadOne brings the bytes of one file to Slack and returns its id.
func (b *Bot) uploadOne(ctx context.Context, p *bridge.Parcel, f *talk.File) (id string, err error) {
	var to *slack.GetUploadURLExternalResponse
	err = b.call(ctx, p, methodAddress, "", func(ctx context.Context) error {
		var err error
		to, err = b.o.Slack.GetUploadURLExternalContext(ctx, slack.GetUploadURLExternalParameters{FileName: f.Name, FileSize: len(f.Bytes), AltTxt: f.Alt})
		return err
	})
	if err != nil {
		return "", err
	}
	if !b.slacks(to.UploadURL) {
		b.figure.refused.WithLabelValues("upload-url").Inc()
		return "", &errDrop{"upload address", errors.New("the address for a file is not Slack's")}
	}
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	if err := b.o.Slack.UploadToURL(ctx, slack.UploadToURLParameters{UploadURL: to.UploadURL, Reader: bytes.NewReader(f.Bytes), Filename: f.Name}); err != nil {
		return "", fmt.Errorf("upload %s: %w", f.Name, err)
	}
	return to.FileID, nil
}
