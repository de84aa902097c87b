package audio_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/worker/room/audio"
)

// flight is a packet on the simulated network.
type flight struct {
	id       int // the order in which it was sent
	sent, at time.Duration
	seq      uint16
	rtp      uint32
	payload  []byte
}

// network is the script of a bad line.
type network struct {
	loss, twice float64       // shares of packets
	jitter      time.Duration // uniform, so that packets overtake each other
	stallEvery  time.Duration // all that is sent in a stall of 200 ms comes at its end
	pauseEvery  time.Duration // the sender falls silent for 2 s, as one that saves bandwidth
}

// fly sends packets for so long, and returns what arrives, in the order of arrival.
func (n network) fly(length time.Duration, payload func(i int) []byte) (arrived []flight, lost int) {
	random := rand.New(rand.NewPCG(1, 2))
	seq := uint16(65400)
	for i := range int(length / audio.Frame) {
		sent := slot(i)
		if n.pauseEvery > 0 && sent%n.pauseEvery > n.pauseEvery-2*time.Second {
			continue
		}
		f := flight{id: i, sent: sent, at: sent, seq: seq, rtp: uint32(0xffff0000 + i*audio.SaidFrame), payload: payload(i)}
		seq++
		if n.jitter > 0 {
			f.at += time.Duration(random.Int64N(int64(n.jitter)))
		}
		if into := sent % max(n.stallEvery, 1); n.stallEvery > 0 && into < 200*time.Millisecond && sent > n.stallEvery {
			f.at = sent - into + 200*time.Millisecond
		}
		if random.Float64() < n.loss {
			lost++
			continue
		}
		arrived = append(arrived, f)
		if random.Float64() < n.twice {
			f.at += 10 * time.Millisecond
			arrived = append(arrived, f)
		}
	}
	slices.SortStableFunc(arrived, func(a, b flight) int { return int(a.at - b.at) })
	return arrived, lost
}

// marks is a decoder whose samples tell the packet's number.
type marks struct{}

func mark(i int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(i)) }

const concealed = 500

func (marks) Decode(packet []byte, pcm []int16) (int, error) {
	id := binary.BigEndian.Uint32(packet)
	fill(pcm[:audio.HeardFrame], 2000)
	pcm[0], pcm[1] = int16(id%1000), int16(id/1000)
	return audio.HeardFrame, nil
}

func (marks) Conceal(_ []byte, pcm []int16) (int, error) { fill(pcm, concealed); return len(pcm), nil }

func fill(pcm []int16, v int16) {
	for i := range pcm {
		pcm[i] = v
	}
}

// heardAt is when an ear gave the frame of each packet.
type heardAt struct {
	ear    *audio.Ear
	now    time.Duration
	begun  time.Duration
	frames int
	when   map[int]time.Duration
	order  []int
	behind time.Duration // the most that the samples lagged
	ahead  time.Duration
}

func newHeardAt() *heardAt {
	h := &heardAt{when: map[int]time.Duration{}, begun: -1}
	h.ear = audio.NewEar(func(f []int16) {
		h.frames++
		if f[2] == 2000 {
			id := int(f[1])*1000 + int(f[0])
			h.when[id], h.order = h.now, append(h.order, id)
		}
	})
	h.ear.Track(marks{})
	return h
}

// run lets packets arrive, and time pass in between, as the ear asks for it.
func (h *heardAt) run(arrived []flight, until time.Duration) {
	for tick := time.Duration(0); tick <= until || len(arrived) > 0; {
		if len(arrived) > 0 && arrived[0].at <= tick {
			f := arrived[0]
			arrived = arrived[1:]
			if h.now = f.at; h.begun < 0 {
				h.begun = f.at
			}
			h.ear.Packet(f.at, f.seq, f.rtp, f.payload)
			h.measure(f.at)
			tick = f.at + h.ear.Again(f.at)
			continue
		}
		h.now = tick
		h.ear.Tick(tick)
		h.measure(tick)
		tick += h.ear.Again(tick)
	}
}

// measure notes how far the samples are from the clock.
func (h *heardAt) measure(at time.Duration) {
	if h.begun >= 0 {
		lag := at - h.begun - audio.Duration(int64(h.frames)*audio.HeardFrame, audio.HeardRate)
		h.behind, h.ahead = max(h.behind, lag), max(h.ahead, -lag)
	}
}

func TestTenBadMinutes(t *testing.T) {
	t.Parallel()
	const length = 10 * time.Minute
	for name, n := range map[string]network{
		"loss":    {loss: 0.1},
		"jitter":  {jitter: 80 * time.Millisecond},
		"stalls":  {stallEvery: 7 * time.Second, pauseEvery: 31 * time.Second},
		"pauses":  {pauseEvery: 9 * time.Second},
		"talking": {loss: 0.1, jitter: 80 * time.Millisecond, stallEvery: 7 * time.Second},
		"all":     {loss: 0.1, twice: 0.02, jitter: 80 * time.Millisecond, stallEvery: 13 * time.Second, pauseEvery: 11 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived, lost := n.fly(length, mark)
			h := newHeardAt()
			h.run(arrived, length+time.Second)
			counted := h.ear.Heard()
			t.Logf("%d packets, %d lost on the way, at most %v behind and %v ahead, %+v", len(arrived), lost, h.behind, h.ahead, counted)
			if !slices.IsSorted(h.order) {
				t.Fatal("packets are heard out of order")
			}
			if h.behind > 200*time.Millisecond || h.ahead > time.Second {
				t.Fatalf("at most %v behind the clock and %v ahead, want 200ms and 1s", h.behind, h.ahead)
			}
			var missed, slow int
			for _, f := range arrived {
				at, heard := h.when[f.id]
				if !heard && f.sent > time.Second { // the depth is learned in the first second
					missed++
				}
				if heard && at-f.sent > 220*time.Millisecond { // of which 200 ms are a stall
					slow++
				}
			}
			if missed > 0 || slow > 0 {
				t.Fatalf("%d packets that came in time are not heard, %d are heard later than 220ms after they were sent", missed, slow)
			}
			if off := counted.Lost - int64(lost); off < -3 || off > 3 || counted.Concealed < counted.Lost*9/10 || counted.Concealed > counted.Lost*11/10 {
				t.Fatalf("%d lost on the way, counted %+v", lost, counted)
			}
		})
	}
}

func TestAnEvenLineIsHeardAtOnce(t *testing.T) {
	t.Parallel()
	n := network{}
	arrived, _ := n.fly(time.Minute, mark)
	arrived = slices.DeleteFunc(arrived, func(f flight) bool { return f.id%100 == 50 })
	h := newHeardAt()
	h.run(arrived, time.Minute)
	for _, f := range arrived {
		want := time.Duration(0)
		if f.id%100 == 51 {
			want = audio.Frame // the one before is waited for until the one after is there
		}
		if late := h.when[f.id] - f.at; late != want {
			t.Fatalf("packet %d is heard %v after it came, want %v", f.id, late, want)
		}
	}
	if diff := cmp.Diff(audio.Heard{Frames: 3000, Lost: 30, Concealed: 30}, h.ear.Heard()); diff != "" {
		t.Fatalf("counters (-want +got):\n%s", diff)
	}
}

func TestNeighboursThatChangePlaces(t *testing.T) {
	t.Parallel()
	arrived, _ := network{}.fly(10*time.Second, mark)
	for i := 11; i < len(arrived); i += 20 {
		arrived[i].at, arrived[i-1].at = arrived[i-1].at, arrived[i].at
		arrived[i], arrived[i-1] = arrived[i-1], arrived[i]
	}
	h := newHeardAt()
	h.run(arrived, 10*time.Second)
	if diff := cmp.Diff(audio.Heard{Frames: 500, Reordered: 25}, h.ear.Heard()); diff != "" || !slices.IsSorted(h.order) {
		t.Fatalf("counters (-want +got):\n%s", diff)
	}
}

func TestAStreamThatStartsAgain(t *testing.T) {
	t.Parallel()
	for name, seq := range map[string]uint16{"far behind": 40000, "far ahead": 20000} {
		arrived, _ := network{}.fly(10*time.Second, mark)
		for i := 250; i < len(arrived); i++ {
			arrived[i].seq, arrived[i].rtp = seq+uint16(i), uint32(77+i*audio.SaidFrame)
		}
		h := newHeardAt()
		h.run(arrived, 10*time.Second)
		if len(h.order) != 499 { // the first of the new stream could be a stray
			t.Fatalf("%s: %d of 500 packets are heard, %+v", name, len(h.order), h.ear.Heard())
		}
	}
}

func TestAnotherTrackHearsWhatWaitedFirst(t *testing.T) {
	t.Parallel()
	h := newHeardAt()
	h.ear.Packet(0, 10, 0, mark(1))
	h.ear.Packet(20*time.Millisecond, 12, 2*audio.SaidFrame, mark(3)) // 2 is missing, and waited for
	if diff := cmp.Diff([]int{1}, h.order); diff != "" {
		t.Fatalf("heard (-want +got):\n%s", diff)
	}
	h.ear.Track(marks{})
	h.ear.Packet(40*time.Millisecond, 9000, 123456, mark(4))
	if diff := cmp.Diff([]int{1, 3, 4}, h.order); diff != "" {
		t.Fatalf("heard (-want +got):\n%s", diff)
	}
}

// speech is like speech to a codec: a voice of many harmonics with two formants,
// a melody, four syllables a second, and a pause each two seconds.
func speech(seconds int) []int16 {
	pcm := make([]int16, seconds*audio.SaidRate)
	var phase float64
	for i := range pcm {
		now := float64(i) / audio.SaidRate
		pitch := 130 + 25*math.Sin(2*math.Pi*0.7*now)
		phase += 2 * math.Pi * pitch / audio.SaidRate
		var v float64
		for h := 1.0; h*pitch < 3500; h++ {
			f := h * pitch
			first, second := (f-500-200*math.Sin(9*now))/150, (f-1500-400*math.Sin(7*now))/300
			v += (math.Exp(-first*first) + 0.4*math.Exp(-second*second) + 0.02) * math.Sin(h*phase)
		}
		syllable := math.Max(0, math.Sin(2*math.Pi*2*now)*math.Sin(2*math.Pi*2*now)-0.1)
		if math.Mod(now, 2) > 1.6 {
			syllable = 0
		}
		pcm[i] = int16(5000 * v * syllable)
	}
	return pcm
}

func encode(t testing.TB, pcm []int16) [][]byte {
	t.Helper()
	encoder, err := audio.NewEncoder()
	if err != nil {
		t.Fatalf("new encoder: %v", err)
	}
	var out [][]byte
	buffer := make([]byte, audio.MaxPacket)
	for ; len(pcm) >= audio.SaidFrame; pcm = pcm[audio.SaidFrame:] {
		n, err := encoder.Encode(pcm[:audio.SaidFrame], buffer)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		out = append(out, slices.Clone(buffer[:n]))
	}
	return out
}

// correlation of two signals, over their common length.
func correlation(a, b []int16) float64 {
	var ab, aa, bb float64
	for i := range min(len(a), len(b)) {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

func TestSpeechSurvivesLoss(t *testing.T) {
	t.Parallel()
	const seconds = 12
	stream := encode(t, speech(seconds))
	hear := func(n network) []int16 {
		arrived, _ := n.fly(seconds*time.Second, func(i int) []byte { return stream[i] })
		l := newListener(t)
		for tick := time.Duration(0); tick <= (seconds+1)*time.Second; tick += audio.Frame {
			for len(arrived) > 0 && arrived[0].at <= tick {
				f := arrived[0]
				arrived = arrived[1:]
				l.ear.Packet(f.at, f.seq, f.rtp, f.payload)
			}
			l.ear.Tick(tick)
		}
		return l.pcm()
	}
	clean := hear(network{})
	for loss, want := range map[float64]float64{0.05: 0.9, 0.1: 0.85, 0.2: 0.7} {
		got := hear(network{loss: loss})
		c, energy := correlation(clean, got), audio.RMS(got)/audio.RMS(clean)
		t.Logf("%.0f %% loss: correlation %.3f, energy %.2f", loss*100, c, energy)
		if c < want || energy < 0.85 || energy > 1.1 {
			t.Errorf("%.0f %% loss: correlation %.3f, want %.2f; RMS %.2f of the clean one", loss*100, c, want, energy)
		}
	}
}
