package api

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// client is livekit-client, where the build step was taken.
const client = "dist/livekit-client.umd.js"

// web is the page, and what its build step made.
//
//go:embed all:web/static all:web/dist
var web embed.FS

// assets are the page, filled in, and what it loads.
type assets struct {
	page  []byte
	tree  fs.FS
	etags map[string]string // by path: what is not here is not served
}

func openAssets(web fs.FS, config Config) (assets, error) {
	tree, err := fs.Sub(web, "web")
	if err != nil {
		return assets{}, fmt.Errorf("open page: %w", err)
	}
	a := assets{tree: tree, etags: map[string]string{}}
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") || path.Ext(name) == ".html" {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		sum := sha256.Sum256(content)
		a.etags[name] = `"` + hex.EncodeToString(sum[:8]) + `"`
		return err
	})
	if err != nil {
		return assets{}, fmt.Errorf("read page: %w", err)
	}
	return a, a.fill(config)
}

// fill writes what the page is told into it.
func (a *assets) fill(config Config) error {
	page, err := template.ParseFS(a.tree, "static/index.html")
	if err != nil {
		return fmt.Errorf("parse page: %w", err)
	}
	var filled bytes.Buffer
	err = page.Execute(&filled, map[string]any{
		"Title": config.Title, "Language": config.Language, "VoiceNote": config.VoiceNote, "Voice": a.etags[client] != "",
	})
	if err != nil {
		return fmt.Errorf("fill page: %w", err)
	}
	a.page = filled.Bytes()
	return nil
}

// VoiceBuilt tells whether the page can speak: livekit-client was built into it.
func (p *Pages) VoiceBuilt() bool { return p.assets.etags[client] != "" }

func (p *Pages) page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	writeSoon(w)
	_, _ = w.Write(p.assets.page) // who asked is gone; there is nobody to tell
}

func (p *Pages) asset(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	etag, ok := p.assets.etags[name]
	if !ok {
		refuse(w, refusal{http.StatusNotFound, "path", "There is nothing here."})
		return
	}
	w.Header().Set("ETag", etag)
	w.Header().Set("Cache-Control", "no-cache")
	writeSoon(w)
	http.ServeFileFS(w, r, p.assets.tree, name)
}
