package stream

import (
	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
)

// Handler is what the SDK calls with the packets of streams.
type Handler interface {
	OnStreamHeader(*livekit.DataStream_Header, string)
	OnStreamChunk(*livekit.DataStream_Chunk)
	OnStreamTrailer(*livekit.DataStream_Trailer)
}

// Tapped is a tap, and what the SDK would call.
func Tapped(room *lksdk.Room, ears Ears) (Handler, error) {
	if err := Tap(room, ears); err != nil {
		return nil, err
	}
	return &tapped{Room: room, ears: ears}, nil
}
