import { setTimeout } from 'node:timers/promises';
import { Command } from 'commander';
import type { Client } from '../client/index.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { connected } from './connection.ts';
import { interruptible } from './interruption.ts';
import { openInBrowser } from './open-in-browser.ts';
import { inBytes } from './progress.ts';
import { fileAt, saveBytes } from './save-bytes.ts';
import { examples, serviceCommand, type ServiceOptions, without } from './service-command.ts';
import { printJSON, printTable } from './table.ts';

/** How long a video is waited for that is still being written, in milliseconds. */
const readyTimeout = 60_000;

/** The commands for replays. `env` is where the service is looked up. */
export function replaysCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('replays')
    .description('List, download and watch the recordings of a session')
    .addCommand(listCommand(env))
    .addCommand(downloadCommand(env))
    .addCommand(openCommand(env));
}

function listCommand(env: NodeJS.ProcessEnv): Command {
  return sessionCommand('list', "List a session's recordings, oldest first")
    .addHelpText('after', examples('replays list wtgh7mh63piihgdskog7h2lm'))
    .action((session: string, options: ServiceOptions) =>
      interruptible(async (signal) => {
        const replays = await connected(options, env, signal, (client) => client.browsers.replays.list(session, { signal }));
        if (options.json) return printJSON(replays.map((replay) => without(replay, ['replay_view_url'])));
        if (replays.length === 0) return console.log('There are no recordings of this session.');
        const rows = replays.map(({ replay_id, started_at, finished_at, error_message }) => [
          replay_id,
          started_at ?? '',
          finished_at ?? 'recording',
          error_message ?? '',
        ]);
        printTable(['ID', 'STARTED', 'FINISHED', 'ERROR'], rows);
      }),
    );
}

function downloadCommand(env: NodeJS.ProcessEnv): Command {
  return sessionCommand('download', 'Download the video of a recording')
    .argument('<replay>', 'id of the recording')
    .option('-o, --output <path>', 'the file to write, or the directory for it if one is there or the path ends in "/"', '.')
    .addHelpText(
      'after',
      `${examples('replays download wtgh7mh63piihgdskog7h2lm p2f0 -o failure.mp4')}\n\nExit code 3: it is still being recorded.`,
    )
    .action((session: string, replay: string, options: ServiceOptions & { output: string }) =>
      interruptible(async (signal) => {
        const { file, bytes } = await connected(options, env, signal, (client) => save(client, session, replay, options.output, signal));
        if (options.json) printJSON({ file, bytes });
        else console.log(`Wrote ${file} (${inBytes(bytes)}).`);
      }),
    );
}

function openCommand(env: NodeJS.ProcessEnv): Command {
  return sessionCommand('open', "Show a recording in the service's player")
    .argument('[replay]', 'id of the recording (default: the newest)')
    .option('--print', 'print the link instead of opening it; it opens for whoever has it')
    .addHelpText(
      'after',
      `${examples('replays open wtgh7mh63piihgdskog7h2lm', 'replays open wtgh7mh63piihgdskog7h2lm p2f0 --print')}

A service that has to be started for it stays until Ctrl+C, since the link ends with it.`,
    )
    .action((session: string, replay: string | undefined, options: ServiceOptions & { print?: boolean }) =>
      interruptible((signal) =>
        connected(options, env, signal, async (client, startedHere) => {
          const replays = await client.browsers.replays.list(session, { signal });
          const chosen = replays.findLast(({ replay_id }) => replay === undefined || replay_id === replay);
          const url = chosen?.replay_view_url;
          if (url === undefined)
            throw new CommandError(`the session ${session} has no ${replay === undefined ? 'recordings' : `recording ${replay}`}`);
          if (options.json) printJSON({ url });
          else if (options.print) console.log(url);
          else await openInBrowser(url, env);
          if (!startedHere) return;
          console.error('The service was started for this link. Ctrl+C ends both.');
          // Only a timer keeps the process, and none is longer.
          await setTimeout(2 ** 31 - 1, undefined, { signal }).catch(() => {});
        }),
      ),
    );
}

function sessionCommand(name: string, description: string): Command {
  return serviceCommand(name, description).argument('<session>', 'id of the session; ended ones keep their recordings');
}

/** Saves a video once it is complete. */
async function save(
  client: Client,
  session: string,
  replay: string,
  output: string,
  signal: AbortSignal,
): Promise<{ file: string; bytes: number }> {
  const deadline = Date.now() + readyTimeout;
  let video = await client.browsers.replays.download(session, replay, { signal });
  while (!video && Date.now() < deadline) {
    await setTimeout(1000, undefined, { signal });
    video = await client.browsers.replays.download(session, replay, { signal });
  }
  if (!video)
    throw new CommandError(`the video of ${replay} is not complete yet: stop the recording, or end its session`, exitCodes.nothingThere);
  const file = await fileAt(output, `${replay}.${video.contentType === 'video/mp4' ? 'mp4' : 'webm'}`);
  return { file, bytes: await saveBytes(video, file, `Downloading ${replay}`, signal) };
}
