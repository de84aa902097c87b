package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
	"headstart/worker"
	"headstart/worker/calllog"
)

// openBases pushes the folders of --base into the store, brings what the store
// holds into memory, and looks whether the agents can read what they name.
func (srv *server) openBases(ctx context.Context, k *kit, agents []worker.Agent) error {
	folders, err := srv.settings.baseFolders()
	if err != nil {
		return err
	}
	readers, err := k.readers(ctx, agents)
	if err != nil {
		return err
	}
	shelf := k.shelfConfig(srv.db)
	shelf.Changed = readers.look
	srv.shelf = knowledge.NewShelf(srv.db, k.library, shelf, srv.log)
	if err := srv.db.Ping(ctx); err != nil {
		srv.log.Warn("bases are not in memory: the database does not answer", zap.Error(err))
		return nil // the shelf goes on asking, and calls are taken meanwhile
	}
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		if err := k.pushFolder(ctx, srv.db, agents, name, folders[name]); err != nil {
			return err
		}
	}
	if err := srv.shelf.Load(ctx); err != nil {
		return err
	}
	return readers.check()
}

// shelfConfig has bases that are too large to hold searched where they are kept, when
// the store can do that.
func (k *kit) shelfConfig(store any) knowledge.ShelfConfig {
	cfg := knowledge.ShelfConfig{MaxChunks: k.settings.maxChunks}
	large, ok := store.(retrieval.Large)
	if !ok {
		return cfg
	}
	k.large = large
	cfg.Large = func(b knowledge.Base) {
		if b.Chunks == 0 {
			return // it is held again, or gone
		}
		k.library.PutLarge(b.Org, retrieval.LargeBase{
			Name: b.Name, Language: b.Language, Model: b.Model, Dim: b.Dim, Calibration: b.Calibration,
		})
		k.log.Info("base is searched in the database", zap.String("org", b.Org), zap.String("base", b.Name), zap.Int("chunks", b.Chunks))
	}
	return cfg
}

// pushFolder pushes a folder with the embedder and the language of the first
// agent that reads its base.
func (k *kit) pushFolder(ctx context.Context, store knowledge.Target, agents []worker.Agent, base, dir string) error {
	at := slices.IndexFunc(agents, func(a worker.Agent) bool { return slices.Contains(a.Bases(), base) })
	if at < 0 {
		k.log.Warn("base is not pushed: no agent here reads it", zap.String("base", base))
		return nil
	}
	embedder, err := k.documentEmbedder(ctx, agents[at])
	if err != nil {
		return err
	}
	r, err := knowledge.Push{
		Store: store, Org: k.org(), Base: base, Embedder: embedder, Language: primary(agents[at].Language),
	}.Dir(ctx, dir)
	if err != nil {
		return fmt.Errorf("--base %s=%s: %w", base, dir, err)
	}
	for _, f := range r.Refused {
		k.log.Warn("file left out of its base", zap.String("base", base), zap.Error(f))
	}
	if r.Base.Chunks == 0 {
		return fmt.Errorf("--base %s=%s: no passage in it", base, dir)
	}
	k.log.Info("base pushed", zap.String("base", base), zap.Int("put", r.Put), zap.Int("kept", r.Kept), zap.Int("removed", r.Removed),
		zap.Int("refused", len(r.Refused)), zap.Int("embedded", r.Embedded), zap.Int("chunks", r.Base.Chunks))
	return nil
}

// documentEmbedder is the embedder of an agent, without what only questions have.
func (k *kit) documentEmbedder(ctx context.Context, a worker.Agent) (retrieval.Embedder, error) {
	a.Embedder.Options = maps.Clone(a.Embedder.Options)
	delete(a.Embedder.Options, "delay_ms")
	return k.embedder(ctx, a)
}

func (k *kit) org() string { return calllog.DefaultOrg }

// keepBases keeps what is searched in step with the store until ctx ends.
func (srv *server) keepBases(ctx context.Context) {
	if err := srv.shelf.Run(ctx); err != nil {
		srv.log.Error("bases are not kept in step any more", zap.Error(err))
	}
}
