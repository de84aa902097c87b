package main

import (
	"context"
	"time"

	"go.uber.org/zap"

	"headstart/retrieval/knowledge"
	"headstart/store/postgres"
)

// keepIndexed has bases that are too large to hold indexed where they are kept,
// until ctx ends. It does nothing for a store that cannot search them.
func (srv *server) keepIndexed(ctx context.Context) {
	db, ok := srv.db.(*postgres.DB)
	if !ok || srv.settings.maxChunks <= 0 {
		return
	}
	told := func(b knowledge.Base, took time.Duration, err error) {
		fields := []zap.Field{zap.String("org", b.Org), zap.String("base", b.Name), zap.Int("chunks", b.Chunks), zap.Duration("took", took)}
		if err != nil {
			srv.log.Error("large base is not indexed, and not searched", append(fields, zap.Error(err))...)
			return
		}
		srv.log.Info("large base indexed", fields...)
	}
	if err := db.KeepIndexed(ctx, srv.settings.maxChunks, told); err != nil {
		srv.log.Error("large bases are not indexed any more", zap.Error(err))
	}
}
