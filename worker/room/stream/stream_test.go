package stream_test

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"go.uber.org/goleak"

	"headstart/turn/crew"
	"headstart/worker/room/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// assemble feeds packets to an assembler and returns what it told.
func assemble(a *stream.Assembler, packets []stream.Packet) []stream.Update {
	var updates []stream.Update
	for _, p := range packets {
		var u stream.Update
		var ok bool
		switch v := p.ToProto().Value.(type) {
		case *livekit.DataPacket_StreamHeader:
			u, ok = a.Header(v.StreamHeader, p.ParticipantIdentity)
		case *livekit.DataPacket_StreamChunk:
			u, ok = a.Chunk(v.StreamChunk)
		case *livekit.DataPacket_StreamTrailer:
			u, ok = a.Trailer(v.StreamTrailer)
		}
		if ok {
			updates = append(updates, u)
		}
	}
	return updates
}

func TestWholeComesBack(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "hello", strings.Repeat("ñandú ", 6000)} {
		var a stream.Assembler
		sent := stream.Text{ID: "s", Topic: "t", Identity: "anna", Attributes: map[string]string{"k": "v"}, At: time.UnixMilli(5)}
		updates := assemble(&a, sent.Whole(text))
		want := stream.Update{ID: "s", Topic: "t", Identity: "anna", Attributes: map[string]string{"k": "v"}, Text: text, Done: true}
		if diff := cmp.Diff(want, updates[len(updates)-1]); diff != "" {
			t.Fatalf("last update (-want +got):\n%s", diff)
		}
		for _, u := range updates {
			if !utf8.ValidString(u.Text) {
				t.Fatalf("a chunk of %d bytes ends in a character", len(u.Text))
			}
		}
	}
}

func TestTrailerAttributesAdd(t *testing.T) {
	t.Parallel()
	var a stream.Assembler
	sent := stream.Text{ID: "s", Topic: "t", Attributes: map[string]string{"final": "false", "k": "v"}}
	packets := append([]stream.Packet{sent.Header()}, sent.Chunks(0, "one ")...)
	packets = append(append(packets, sent.Chunks(1, "two")...), sent.Trailer(map[string]string{"final": "true"}))
	var texts []string
	updates := assemble(&a, packets)
	for _, u := range updates {
		texts = append(texts, u.Text+"/"+u.Attributes["final"])
	}
	if diff := cmp.Diff([]string{"/false", "one /false", "one two/false", "one two/true"}, texts); diff != "" {
		t.Fatalf("updates (-want +got):\n%s", diff)
	}
}

func TestAssemblerIsBounded(t *testing.T) {
	t.Parallel()
	var a stream.Assembler
	for i := range 1000 {
		assemble(&a, []stream.Packet{stream.Text{ID: strconv.Itoa(i)}.Header()})
	}
	if u := assemble(&a, stream.Text{ID: "0"}.Chunks(0, "x")); len(u) != 0 {
		t.Fatal("the oldest of 1000 open streams is still known")
	}
	if u := assemble(&a, stream.Text{ID: "999"}.Chunks(0, strings.Repeat("x", 1<<20))); len(u[len(u)-1].Text) != 64<<10 {
		t.Fatalf("kept %d bytes of a stream", len(u[len(u)-1].Text))
	}
}

func FuzzAssembler(f *testing.F) {
	f.Add("s", []byte("text"), "s", true)
	f.Add("", []byte{0xff}, "other", false)
	f.Fuzz(func(t *testing.T, id string, content []byte, end string, attributes bool) {
		var a stream.Assembler
		a.Header(&livekit.DataStream_Header{StreamId: id, ContentHeader: &livekit.DataStream_Header_TextHeader{}}, "x")
		a.Chunk(&livekit.DataStream_Chunk{StreamId: id, Content: content})
		trailer := &livekit.DataStream_Trailer{StreamId: end}
		if attributes {
			trailer.Attributes = map[string]string{"a": "b"}
		}
		if u, ok := a.Trailer(trailer); ok && (id != end || id == "" || !u.Done) {
			t.Fatalf("stream %q ended by %q: %+v", id, end, u)
		}
	})
}

func TestTapFindsTheSDKAsItKnowsIt(t *testing.T) {
	t.Parallel()
	room := lksdk.NewRoom(lksdk.NewRoomCallback())
	if err := stream.Tap(room, stream.Ears{}); err != nil {
		t.Fatalf("tap: %v", err)
	}
}

// A panic while a stream is heard is on a goroutine of the SDK's: it must go no
// further than the tap.
func TestATapKeepsAPanicFromTheSDK(t *testing.T) {
	t.Parallel()
	var told []error
	handler, err := stream.Tapped(lksdk.NewRoom(&lksdk.RoomCallback{}), stream.Ears{
		Text:  func(stream.Update) { panic("bug") },
		Burst: func(err error) { told = append(told, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range (stream.Text{ID: stream.NewID(), Topic: "lk.chat"}).Whole("hola") {
		switch v := p.ToProto().Value.(type) {
		case *livekit.DataPacket_StreamHeader:
			handler.OnStreamHeader(v.StreamHeader, "ana")
		case *livekit.DataPacket_StreamChunk:
			handler.OnStreamChunk(v.StreamChunk)
		case *livekit.DataPacket_StreamTrailer:
			handler.OnStreamTrailer(v.StreamTrailer)
		}
	}
	if len(told) != 3 || crew.In(told[0]) == nil {
		t.Fatalf("told %v", told)
	}
}
