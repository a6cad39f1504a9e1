/** Work that many events ask for: one run at a time, a pause after it, and one more run for events that came meanwhile. */
interface Paced {
  ask(): void;
  stop(): void;
}

export function paced(work: () => Promise<void>, pauseMs: number): Paced {
  let isBusy = false;
  let isAskedAgain = false;
  let isStopped = false;
  let pause: ReturnType<typeof setTimeout> | undefined;

  const begin = () => {
    isBusy = true;
    void work().finally(() => {
      if (isStopped) return;
      pause = setTimeout(() => {
        isBusy = false;
        if (isAskedAgain) ask();
      }, pauseMs);
    });
  };
  const ask = () => {
    isAskedAgain = isBusy;
    if (!isBusy && !isStopped) begin();
  };
  const stop = () => {
    isStopped = true;
    clearTimeout(pause);
  };
  return { ask, stop };
}
