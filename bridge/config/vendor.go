package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"spillway.sh/spillway/bridge/config/strict"
)

// Vendor is the file of `spillway plugin desk`: what a vendor sells by ticket, and
// whom to tell. Paths are absolute.
type Vendor struct {
	Name     string
	Types    []MachineType
	SSH      SSH
	Channels []VendorChannel
	Lang     string
	Deliver  time.Duration // of a delivery
	Remind   time.Duration
	Return   time.Duration // between two reminders of a return
}

// VendorChannel is where letters go.
type VendorChannel struct {
	Name string
	Kind string
	URL  Secret
}

// ReadVendor reads and checks a vendor's file; every mistake is told at once.
func ReadVendor(path string) (*Vendor, error) {
	text, err := os.ReadFile(path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read vendor: %w", err)
	}
	return parseVendor(path, text)
}

func parseVendor(path string, text []byte) (*Vendor, error) {
	doc := strict.Parse(path, text)
	v, version := &Vendor{SSH: SSH{User: "root", Port: 22}, Lang: "both", Deliver: 30 * time.Minute, Remind: 10 * time.Minute, Return: 30 * time.Minute}, 0
	root := doc.Root()
	whole := root.Object(
		strict.Need("version", "version: 1", strict.Whole(&version, 1, 1)),
		strict.Need("vendor", "vendor: 简米科技", strict.Text(&v.Name, oneLine)),
		strict.Need("types", typeExample, machineTypes(&v.Types, true)),
		strict.Need("ssh", "ssh: {user: root, key_file: desk.key}", func(n strict.Node) {
			if n.Object(sshKeys(path, &v.SSH)...) && v.SSH.KeyFile == "" {
				n.With("key_file: desk.key").Refuse("names no key to come in with")
			}
		}),
		strict.Need("channels", "channels: [{name: ops, kind: feishu, url_file: feishu.url}]", func(n strict.Node) { vendorChannels(n, path, v) }),
		strict.May("lang", "lang: both", strict.Choice(&v.Lang, "en", "zh", "both")),
		strict.May("deliver", "deliver: 30m", strict.Span(&v.Deliver, time.Second, 7*24*time.Hour)),
		strict.May("remind", "remind: 10m", strict.Span(&v.Remind, time.Second, 24*time.Hour)),
		strict.May("remind_return", "remind_return: 30m", strict.Span(&v.Return, time.Second, 24*time.Hour)),
	)
	if at, ok := root.Get("remind"); whole && ok && v.Remind >= v.Deliver {
		at.Fault("a reminder comes before the delivery's own end, see deliver")
	}
	if err := doc.Err(); err != nil {
		return nil, fmt.Errorf("read vendor: %w", err)
	}
	return v, nil
}

var channelKinds = []string{"webhook", "slack", "feishu", "wecom", "dingtalk"}

// vendorChannels reads whom to tell. An address of most kinds is a secret, so it
// lies in a file; a plain webhook's may stand here.
func vendorChannels(n strict.Node, path string, v *Vendor) {
	lines := map[string]int{}
	strict.Each(func(e strict.Node) {
		var c VendorChannel
		plain, file := "", ""
		whole := e.Object(
			strict.Need("name", "name: ops", strict.Text(&c.Name, name)),
			strict.Need("kind", "kind: feishu", strict.Choice(&c.Kind, channelKinds...)),
			strict.May("url", "url: http://127.0.0.1:8080/orders", address(&plain)),
			strict.May("url_file", "url_file: feishu.url", strict.Text(&file)),
		)
		once(e, lines, c.Name, "channel")
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		at, given := e.Get("url_file")
		switch {
		case !whole:
		case (plain == "") == !given:
			e.With("url_file: feishu.url").Refuse("needs either url or url_file")
		case given:
			c.URL = SecretFile(file)
			url, err := c.URL.Reveal()
			if err != nil {
				at.Refuse(err.Error())
			} else if webAddress(url) != "" {
				at.Refuse("what is in it is no URL that begins with http:// or https://")
			}
		case slices.Contains([]string{"slack", "feishu", "wecom", "dingtalk"}, c.Kind):
			e.With("url_file: " + c.Kind + ".url").Refuse("who knows this address may write there: keep it in a file of its own, and name that by url_file")
		default:
			c.URL = SecretValue(plain)
		}
		v.Channels = append(v.Channels, c)
	})(n)
	if n.IsList() && len(v.Channels) == 0 {
		n.With("channels: [{name: ops, kind: webhook, url: http://127.0.0.1:8080/orders}]").Refuse("names no channel: nobody would hear of an order")
	}
}
