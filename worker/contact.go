package worker

import (
	"encoding/json"
	"strings"

	"headstart/memory"
	"headstart/worker/dispatch"
	"headstart/worker/room"
)

// attrContact is the participant attribute by which an app names a contact. It
// is believed only when the participant cannot write attributes itself.
const attrContact = "headstart.contact"

// attrMedium is the participant attribute by which whoever makes a caller's token
// says that they write and read: "text". It proves nothing, and need not.
const attrMedium = "headstart.medium"

// written tells whether a caller has a conversation in writing.
func written(c room.Caller) bool { return c.Kind == "STANDARD" && c.Attributes[attrMedium] == "text" }

// jobMetadata is what a dispatch may tell about its call, as JSON. Anything
// else in it is the app's own business.
type jobMetadata struct {
	// Agent is the slug of the agent that takes the call.
	Agent string `json:"agent"`
	// Contact is who is on the line: an id, or an object with id and name.
	Contact json.RawMessage `json:"contact"`
}

// The same by the attributes of a dispatch, where its metadata says nothing of them.
const (
	attrJobAgent   = "headstart.agent"
	attrJobContact = "headstart.contact"
)

// readJob reads what a dispatch tells about its call.
func readJob(job dispatch.Job) jobMetadata {
	var m jobMetadata
	if json.Unmarshal([]byte(job.Metadata), &m) != nil {
		m = jobMetadata{} // not JSON: the app's own business
	}
	if m.Agent == "" {
		m.Agent = job.Attributes[attrJobAgent]
	}
	if contact := job.Attributes[attrJobContact]; m.Contact == nil && contact != "" {
		m.Contact, _ = json.Marshal(contact) // a string always marshals
	}
	return m
}

// contactOf tells who is on the line: whom the app named, else the number that
// the call came from, else nobody.
func contactOf(m jobMetadata, caller room.Caller, region string) *memory.Contact {
	phone, known := memory.E164(caller.SIP.Phone, region)
	named := namedContact(m, caller)
	switch {
	case named.ID != "":
		named.ExternalID = named.ID
		named.Phone = phone
		return &named
	case known:
		return &memory.Contact{ID: phone, Phone: phone}
	}
	return nil
}

func namedContact(m jobMetadata, caller room.Caller) memory.Contact {
	var id string
	if json.Unmarshal(m.Contact, &id) == nil && strings.TrimSpace(id) != "" {
		return memory.Contact{ID: id}
	}
	var whole struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	if json.Unmarshal(m.Contact, &whole) == nil && whole.ID != "" {
		return memory.Contact{ID: whole.ID, Name: whole.Name}
	}
	if id := caller.Attributes[attrContact]; id != "" && !caller.CanUpdateMetadata {
		return memory.Contact{ID: id}
	}
	return memory.Contact{}
}
