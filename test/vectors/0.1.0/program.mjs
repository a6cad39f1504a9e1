/** Runs the built program of a checkout as an operator and a site would. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** What is left when making the vectors fails. */
const running = new Set();
process.once('exit', () => {
  for (const child of running) child.kill();
});

/** @param checkout folder of the program, built */
export function programIn(checkout) {
  const start = (args, stdio) => {
    const env = Object.entries(process.env).filter(([name]) => !name.startsWith('URN_'));
    const child = spawn(process.execPath, [join(checkout, 'bin/urn.js'), ...args], {
      env: Object.fromEntries(env),
      stdio,
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    return child;
  };

  /** @returns what a command wrote on stdout */
  async function urn(...args) {
    const child = start(args, ['ignore', 'pipe', 'pipe']);
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'])
      child[name].setEncoding('utf8').on('data', (text) => {
        said[name] += text;
      });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`urn ${args.join(' ')} exited with ${code}:\n${said.stderr}`);
    return said.stdout.trimEnd();
  }

  /** @returns the address of the service, and what stops it */
  async function serve(data, studies) {
    const child = start(['serve', '--data', data, '--studies', studies, '--port', '0'], ['ignore', 'ignore', 'pipe']);
    let stderr = '';
    const url = await new Promise((resolve, reject) => {
      child.stderr.setEncoding('utf8').on('data', (text) => {
        stderr += text;
        const address = /"address":"([^"]+)"/.exec(stderr)?.[1];
        if (address) resolve(address);
      });
      child.once('close', (code) => reject(new Error(`urn serve exited with ${code}:\n${stderr}`)));
    });
    const stop = async () => {
      child.kill('SIGTERM');
      const [code] = await once(child, 'close');
      if (code !== 0) throw new Error(`urn serve stopped with ${code}:\n${stderr}`);
    };
    return { url, stop };
  }

  return { urn, serve };
}

/** @returns the answer, whatever its status */
export function ask(url, path, key, parameters = {}, { method = 'GET', headers = {} } = {}) {
  const query = new URLSearchParams(parameters);
  return fetch(`${url}${path}?${query}`, { method, headers: { 'X-API-Key': key, ...headers } });
}

/** @returns the receipt; asks again while the study is paused, because the service follows the log a moment behind */
export async function randomize(url, key, study, id, levels, headers = {}) {
  for (let tries = 0; tries < 200; tries++) {
    const answer = await ask(url, '/study_participants', key, { study, id, ...levels }, { method: 'POST', headers });
    const text = await answer.text();
    if (answer.status === 200) return answer.headers.get('urn-receipt');
    if (!/paused|moved/.test(text)) throw new Error(`${id}: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${id}: the study does not go on`);
}
