package devserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"headstart/worker/child"
)

const (
	askEvery  = 10 * time.Millisecond
	askWithin = 2 * time.Second
)

// awaitReady returns when the server answers; one that does not is ended.
func (s *Server) awaitReady(ctx context.Context) error {
	client := &http.Client{Timeout: askWithin, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	return s.child.Await(ctx, child.Patience{Within: startWithin, Every: askEvery}, func(ctx context.Context) error { return s.answers(ctx, client) })
}

// answers asks for the list of rooms with the keys of this very server: the
// port may have gone to another one, which would answer a plain GET as well.
func (s *Server) answers(ctx context.Context, client *http.Client) error {
	url := "http" + strings.TrimPrefix(s.URL, "ws") + "/twirp/livekit.RoomService/ListRooms"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.listToken(time.Now()))
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answered %s", resp.Status)
	}
	return err
}

// listToken is signed here, in ten lines, because only the worker's room and
// dispatch may import LiveKit.
func (s *Server) listToken(now time.Time) string {
	enc := base64.RawURLEncoding
	claims := fmt.Sprintf(`{"iss":%q,"nbf":%d,"exp":%d,"video":{"roomList":true}}`,
		s.APIKey, now.Add(-time.Minute).Unix(), now.Add(time.Minute).Unix())
	signed := enc.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc.EncodeToString([]byte(claims))
	mac := hmac.New(sha256.New, []byte(s.APISecret))
	mac.Write([]byte(signed))
	return signed + "." + enc.EncodeToString(mac.Sum(nil))
}
