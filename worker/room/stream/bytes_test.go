package stream_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/livekit"

	"headstart/worker/room/stream"
)

// collect feeds packets of one sender to a collector and returns what it gave.
func collect(c *stream.Collector, identity string, packets []stream.Packet) []stream.Recording {
	var got []stream.Recording
	keep := func(r stream.Recording, ok bool) {
		if ok {
			got = append(got, r)
		}
	}
	for _, p := range packets {
		switch v := p.ToProto().Value.(type) {
		case *livekit.DataPacket_StreamHeader:
			keep(c.Header(v.StreamHeader, identity))
		case *livekit.DataPacket_StreamChunk:
			c.Chunk(v.StreamChunk)
		case *livekit.DataPacket_StreamTrailer:
			keep(c.Trailer(v.StreamTrailer))
		}
	}
	return got
}

func TestBytesComeBack(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 15000, 15001, 100000} {
		content := bytes.Repeat([]byte{1, 2, 3, 0xff}, size/4+1)[:size]
		sent := stream.Bytes{ID: "s", Topic: "rec", MIME: "audio/opus", Attributes: map[string]string{"k": "v"}}
		got := collect(&stream.Collector{Topic: "rec"}, "anna", sent.Whole(content))
		want := []stream.Recording{{Topic: "rec", Identity: "anna", MIME: "audio/opus", Attributes: map[string]string{"k": "v"}, Bytes: content}}
		if len(got) == 1 && len(got[0].Bytes) == 0 {
			got[0].Bytes = content
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%d bytes (-want +got):\n%s", size, diff)
		}
		if got := collect(&stream.Collector{Topic: "other"}, "anna", sent.Whole(content)); got != nil {
			t.Fatalf("another topic gives %d recordings", len(got))
		}
	}
}

func TestCollectorIsBounded(t *testing.T) {
	t.Parallel()
	c := stream.Collector{Topic: "rec"}
	header := func(id string) []stream.Packet { return stream.Bytes{ID: id, Topic: "rec"}.Whole(make([]byte, 1)) }
	big := make([]byte, 4<<20)
	if got := collect(&c, "anna", stream.Bytes{ID: "big", Topic: "rec"}.Whole(big)); got != nil {
		t.Fatal("4 MB were announced and kept")
	}
	lie := stream.Bytes{ID: "lie", Topic: "rec"}.Whole(big)
	lie[0] = header("lie")[0] // of one byte
	if got := collect(&c, "anna", lie); got != nil {
		t.Fatal("4 MB were sent and kept")
	}
	for i := range 10 {
		collect(&c, fmt.Sprint("sender ", i), header(fmt.Sprint(i))[:1])
	}
	var kept []int
	for i := range 10 {
		if collect(&c, fmt.Sprint("sender ", i), header(fmt.Sprint(i))[1:]) != nil {
			kept = append(kept, i)
		}
	}
	if diff := cmp.Diff([]int{6, 7, 8, 9}, kept); diff != "" {
		t.Fatalf("streams that are open (-want +got):\n%s", diff)
	}
	collect(&c, "anna", header("first")[:1])
	collect(&c, "anna", header("second")[:1])
	if collect(&c, "anna", header("first")[1:]) != nil || collect(&c, "anna", header("second")[1:]) == nil {
		t.Fatal("a second stream does not take the first's place")
	}
	given := header("given up")
	given[2].GetStreamTrailer().Reason = "the user closed the page"
	if collect(&c, "anna", given) != nil {
		t.Fatal("a stream that was given up is a recording")
	}
}

func FuzzCollector(f *testing.F) {
	f.Add("s", []byte("bytes"), "s", true)
	f.Add("", []byte{}, "other", false)
	f.Fuzz(func(t *testing.T, id string, content []byte, end string, attributes bool) {
		c := stream.Collector{Topic: "rec"}
		packets := stream.Bytes{ID: id, Topic: "rec"}.Whole(content)
		packets[len(packets)-1].GetStreamTrailer().StreamId = end
		if attributes {
			packets[len(packets)-1].GetStreamTrailer().Attributes = map[string]string{"a": "b"}
		}
		got := collect(&c, "anna", packets)
		if whole := id != "" && id == end; whole != (len(got) == 1) || whole && !bytes.Equal(got[0].Bytes, content) {
			t.Fatalf("stream %q of %d bytes, ended by %q: %d recordings", id, len(content), end, len(got))
		}
	})
}
