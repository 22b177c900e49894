package slackd

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func (s *Server) filePath(id string) string { return filepath.Join(s.opt.State, "files", id) }

// uploadURL is the first of three steps of an upload.
func uploadURL(c *call) (object, error) {
	name, length := c.str("filename"), 0
	length, err := strconv.Atoi(c.str("length"))
	if err != nil || name == "" || length <= 0 {
		return nil, refuse("invalid_arguments")
	}
	if length > maxUpload {
		return nil, refuse("file_upload_size_restricted")
	}
	kind := mime.TypeByExtension(filepath.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	f := &File{
		ID: c.s.newID("F"), Name: name, Title: name, AltText: c.str("alt_txt"), Mimetype: kind, Filetype: strings.TrimPrefix(filepath.Ext(name), "."),
		Size: length, User: c.s.work.App.BotUser, Created: c.now.Unix(), Channels: []string{},
	}
	f.URL = c.base + "/files-pri/" + c.s.work.Team.ID + "-" + f.ID + "/" + name
	ticket := c.s.secret(16)
	c.s.files[f.ID], c.s.uploads[ticket] = f, f.ID
	return object{"upload_url": c.base + "/upload/v1/" + ticket, "file_id": f.ID}, nil
}

// upload is the second step: the bytes, as the body or as the first part of a
// form. It wants no token; the address is one.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	ticket := strings.TrimPrefix(r.URL.Path, "/upload/v1/")
	s.mu.Lock()
	id := s.uploads[ticket]
	delete(s.uploads, ticket)
	s.mu.Unlock()
	if id == "" {
		http.Error(w, "no such upload", http.StatusNotFound)
		return
	}
	data, err := uploaded(w, r)
	if err == nil {
		err = os.WriteFile(s.filePath(id), data, 0o600)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[id]
	if err != nil || len(data) != f.Size {
		http.Error(w, fmt.Sprintf("want %d bytes, got %d", f.Size, len(data)), http.StatusBadRequest)
		return
	}
	f.uploaded = true
	fmt.Fprintf(w, "OK - %d", len(data))
}

func uploaded(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload+maxBody)
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "multipart/form-data" {
		return io.ReadAll(r.Body)
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	for {
		part, err := parts.NextPart()
		if err != nil {
			return nil, err
		}
		if part.FileName() != "" {
			return io.ReadAll(part)
		}
	}
}

// uploadComplete is the third step: the files are shown in channels. The bot
// has to be a member there, whatever it may post; names and people are no
// channels.
func uploadComplete(c *call) (object, error) {
	var given []struct{ ID, Title string }
	if c.into("files", &given) != nil || len(given) == 0 {
		return nil, refuse("invalid_arguments")
	}
	channels, err := c.shareTargets()
	if err != nil {
		return nil, err
	}
	files := []*File{}
	for _, g := range given {
		f := c.s.files[g.ID]
		switch {
		case f == nil || !f.uploaded:
			return nil, refuse("file_not_found")
		case f.done:
			return nil, refuse("file_already_completed")
		}
		done := *f
		done.done = true
		if g.Title != "" {
			done.Title = g.Title
		}
		for _, ch := range channels {
			done.Channels = append(slices.Clone(done.Channels), ch.ID)
		}
		files = append(files, &done)
	}
	for _, f := range files {
		c.s.files[f.ID] = f
		c.s.journal.write(record{File: f})
	}
	if err := c.share(channels, files); err != nil {
		return nil, err
	}
	return object{"files": files}, nil
}

func (c *call) shareTargets() ([]*Channel, error) {
	ids := c.list("channels")
	if id := c.str("channel_id"); id != "" {
		ids = []string{id}
	}
	if c.has("thread_ts") && len(ids) != 1 {
		return nil, refuse("invalid_arguments")
	}
	out := []*Channel{}
	for _, id := range ids {
		ch := c.s.work.channel(id)
		switch {
		case ch == nil || c.s.reachable(ch) != nil:
			return nil, refuse("channel_not_found")
		case !ch.has(c.s.work.App.BotUser):
			return nil, refuse("not_in_channel")
		case ch.IsArchived:
			return nil, refuse("is_archived")
		}
		out = append(out, ch)
	}
	return out, nil
}

func (c *call) share(channels []*Channel, files []*File) error {
	var blocks rawJSON
	if c.has("blocks") && !c.has("initial_comment") { // Slack shows the one or the other
		var err error
		if blocks, err = c.s.messageBlocks(c.raw("blocks")); err != nil {
			return err
		}
	}
	for _, ch := range channels {
		m := c.s.botMessage(ch.ID, c.str("initial_comment"), blocks, nil)
		m.Subtype, m.Files, m.ThreadTS = "file_share", files, c.str("thread_ts")
		c.s.keep(m)
	}
	return nil
}

// fetchFile serves url_private to the bot.
func (s *Server) fetchFile(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !equal(token, s.tokens.Bot) {
		// Slack answers with its sign-in page and a status of success.
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!DOCTYPE html><title>Sign in</title>")
		return
	}
	_, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/files-pri/"), "-")
	id, _, _ = strings.Cut(id, "/")
	s.sendFile(w, id)
}

// sendFile serves the bytes of an upload.
func (s *Server) sendFile(w http.ResponseWriter, id string) {
	s.mu.Lock()
	f := s.files[id]
	s.mu.Unlock()
	if f == nil {
		writeJSON(w, http.StatusNotFound, mistake{Error: "there is no file " + id})
		return
	}
	data, err := os.ReadFile(s.filePath(f.ID))
	if err != nil {
		writeJSON(w, http.StatusNotFound, mistake{Error: "the bytes of the file are gone"})
		return
	}
	w.Header().Set("Content-Type", f.Mimetype)
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(data) // a reader that left needs no bytes
}

// copyJSON is a deep copy of plain data.
func copyJSON[T any](v T) (out T) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return v
	}
	return out
}
