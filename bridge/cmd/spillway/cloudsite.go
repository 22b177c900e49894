package main

import (
	"context"
	"reflect"
	"strings"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/calendar"
	"spillway.sh/spillway/bridge/config"
	"spillway.sh/spillway/bridge/desk"
)

// cloudInfos are the clouds of the configuration, for people.
func (s *site) cloudInfos() []desk.CloudInfo {
	out := make([]desk.CloudInfo, 0, len(s.config.Clouds))
	for i := range s.config.Clouds {
		c := &s.config.Clouds[i]
		out = append(out, desk.CloudInfo{Name: c.Name, Kind: kindOf(c), Provider: c.Provider})
	}
	return out
}

// kindOf names what speaks to a cloud, as the configuration's key has it: the one
// way of renting there that is given.
func kindOf(c *config.Cloud) string {
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return ""
}

// providers are what the configuration says of clouds.
func (s *site) providers() map[string]bridge.Provider {
	out := map[string]bridge.Provider{}
	for i := range s.config.Clouds {
		out[s.config.Clouds[i].Name] = s.config.Clouds[i].Provider
	}
	return out
}

// replies are the last ones of the clouds to the engine.
func (d *daemon) replies() map[string]bridge.Reply { return d.engine.Health().Replies }

// tellOfLicences warns once of each attribute of a provider that ends soon, and
// once of its end.
func (d *daemon) tellOfLicences(ctx context.Context) error {
	due := bridge.Licences(utcNow(), d.site.providers())
	if len(due) == 0 {
		return nil
	}
	_, err := through[calendar.Store](d.store).TellOnce(ctx, due...)
	return err
}
