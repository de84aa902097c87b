package dispatch

import (
	"context"
	"maps"

	"github.com/livekit/protocol/livekit"
)

// What LiveKit and its clients look for to know an agent by name: the first is
// set by LiveKit's own workers, the second by its server.
const (
	attributeWorker = "lk.agent.name"
	attributeServer = "lk.agent_name"
)

// job is a job from the moment it is offered until it has been reported. Its
// goroutine (handle) owns it; the reader only delivers assignments and ends it.
type job struct {
	Job
	end      context.CancelCauseFunc     // of the context that it runs under
	assigned chan *livekit.JobAssignment // capacity 1; sent to under Client.mu
	given    bool                        // an assignment was sent to assigned; guarded by Client.mu
}

func (k Kind) proto() livekit.JobType {
	if k == Participant {
		return livekit.JobType_JT_PARTICIPANT
	}
	return livekit.JobType_JT_ROOM
}

func jobOf(p *livekit.Job, resuming bool) Job {
	j := Job{
		ID:         p.GetId(),
		DispatchID: p.GetDispatchId(),
		Room:       p.GetRoom().GetName(),
		RoomSID:    p.GetRoom().GetSid(),
		AgentName:  p.GetAgentName(),
		Metadata:   p.GetMetadata(),
		Attributes: p.GetAttributes(),
		Resuming:   resuming,
	}
	if who := p.GetParticipant(); who != nil {
		j.Caller = &Caller{
			Identity:   who.GetIdentity(),
			Name:       who.GetName(),
			Metadata:   who.GetMetadata(),
			Attributes: who.GetAttributes(),
		}
	}
	return j
}

func (a Answer) identity(id string) string {
	if a.Identity != "" {
		return a.Identity
	}
	return "agent-" + id
}

func (a Answer) release() {
	if a.Release != nil {
		a.Release()
	}
}

// attributes adds the agent's name to the Host's own, which cannot change it.
func (c *Client) attributes(a Answer) map[string]string {
	all := maps.Clone(a.Attributes)
	if all == nil {
		all = make(map[string]string, 2)
	}
	all[attributeWorker], all[attributeServer] = c.cfg.AgentName, c.cfg.AgentName
	return all
}
