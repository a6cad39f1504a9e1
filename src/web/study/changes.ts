/**
 * Learns from GET /changes that a study has changed. All tabs of the browser share one stream: the tab that has the lock
 * listens, and tells the others.
 */

/** `change`: something on the page may be out of date. `open` and `lost`: whether changes are being received. */
type News = 'change' | 'open' | 'lost';

/** What a tab asks when it opens. */
const IS_IT_OPEN = 'is it open?';
/** A stream ends every few minutes, and the browser opens the next one. Only after this time does it count as lost. */
const LOST_AFTER_MS = 5_000;
/** When to try again if the service refused the stream because there are too many. */
const AGAIN_AFTER_MS = 60_000;

/** @returns a function that ends it */
export function listenForChanges(study: string, hear: (news: News) => void): () => void {
  const name = `urn-changes ${study}`;
  const channel = new BroadcastChannel(name);
  const ended = new AbortController();
  let latest: News | undefined;
  channel.onmessage = ({ data }) => {
    if (data !== IS_IT_OPEN) hear(data);
    else if (latest) channel.postMessage(latest);
  };
  channel.postMessage(IS_IT_OPEN);
  const tell = (news: News) => {
    if (news !== 'change') latest = news;
    channel.postMessage(news);
    hear(news);
  };
  navigator.locks
    .request(name, { signal: ended.signal }, () => listen(study, tell, ended.signal))
    // Without the lock there was nothing to end.
    .catch(() => undefined);
  return () => {
    ended.abort();
    channel.close();
  };
}

/** Listens until the end. The browser reopens a stream that broke off. */
function listen(study: string, tell: (news: News) => void, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let stream: EventSource;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const open = () => {
      stream = new EventSource(`/changes?${new URLSearchParams({ study })}`);
      stream.onopen = () => {
        clearTimeout(timer);
        timer = undefined;
        tell('open');
      };
      stream.onmessage = () => tell('change');
      stream.onerror = () => {
        if (stream.readyState === EventSource.CLOSED) {
          tell('lost');
          clearTimeout(timer);
          timer = setTimeout(open, AGAIN_AFTER_MS);
        } else timer ??= setTimeout(() => tell('lost'), LOST_AFTER_MS);
      };
    };
    ended.addEventListener('abort', () => {
      stream.close();
      clearTimeout(timer);
      resolve();
    });
    if (!ended.aborted) open();
    else resolve();
  });
}
