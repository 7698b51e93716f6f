import { setTimeout } from 'node:timers/promises';
import { Command } from 'commander';
import { unlessMissing } from '../client/errors.ts';
import type { Client } from '../client/index.ts';
import type { Replay } from '../contract/replays.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { keepStarted, showLink } from './open-in-browser.ts';
import { inBytes } from './progress.ts';
import { fileAt, saveBytes } from './save-bytes.ts';
import { examples, printResult, serviceCommand, type ServiceOptions, withClient, without } from './service-command.ts';
import { type Columns, printList } from './table.ts';

/** The longest wait for an incomplete video, in milliseconds. */
const readyTimeout = 60_000;

/** The command `replays`. */
export function replaysCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('replays')
    .description('List, download and watch recordings of sessions')
    .addCommand(listCommand(env))
    .addCommand(downloadCommand(env))
    .addCommand(openCommand(env));
}

function listCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('list', "List a session's recordings, oldest first")
    .argument('<session>', 'id of the session; ended ones keep their recordings')
    .addHelpText('after', examples('replays list wtgh7mh63piihgdskog7h2lm'))
    .action((session: string, options: ServiceOptions) =>
      withClient(options, env, async (client, signal) => {
        const replays = await client.browsers.replays.list(session, { signal });
        const columns: Columns<(typeof replays)[number]> = {
          ID: 'replay_id',
          STARTED: 'started_at',
          FINISHED: ({ finished_at }) => finished_at ?? 'recording',
          ERROR: 'error_message',
        };
        const listed = replays.map((replay) => without(replay, ['replay_view_url'])) as typeof replays;
        await printList(listed, columns, options, 'There are no recordings of this session.');
      }),
    );
}

function downloadCommand(env: NodeJS.ProcessEnv): Command {
  return replayCommand('download', 'Download the video of a recording')
    .option(
      '-o, --output <path>',
      'the file to write, or the directory for it if one is there or the path ends in "/"',
      '.',
    )
    .addHelpText(
      'after',
      `${examples('replays download p2f0 -o failure.mp4')}\n\nExit code 3: it is still being recorded.`,
    )
    .action((id: string, replay: string | undefined, options: ServiceOptions & { output: string }) =>
      withClient(options, env, async (client, signal) => {
        const { file, bytes } = await save(
          client,
          await findReplay(client, id, replay, signal),
          options.output,
          signal,
        );
        printResult(options, { file, bytes }, `Wrote ${file} (${inBytes(bytes)}).`);
      }),
    );
}

function openCommand(env: NodeJS.ProcessEnv): Command {
  return replayCommand('open', "Show a recording in the service's player")
    .option('--print', 'print the link instead of opening it; everybody who has the link can watch')
    .addHelpText(
      'after',
      `${examples('replays open p2f0', 'replays open wtgh7mh63piihgdskog7h2lm --print')}

If no service runs, the command starts one and keeps it until Ctrl+C, because the link ends with the service.`,
    )
    .action((id: string, replay: string | undefined, options: ServiceOptions & { print?: boolean }) =>
      withClient(options, env, async (client, signal, startedHere) => {
        const { replay_id, replay_view_url: url } = await findReplay(client, id, replay, signal);
        if (url === undefined)
          throw new CommandError(`this service has no player for the recording ${replay_id}: download its video`);
        await showLink(url, options, env);
        await keepStarted(startedHere, 'this link', signal);
      }),
    );
}

function replayCommand(name: string, description: string): Command {
  return serviceCommand(name, description)
    .argument('<id>', 'id of the recording, or of a session for its newest one; ended sessions keep their recordings')
    .argument('[recording]', 'id of the recording, if the first id is the session: only the hosted service needs both');
}

type FoundReplay = Replay & { session_id: string };

async function findReplay(
  client: Client,
  id: string,
  replayId: string | undefined,
  signal: AbortSignal,
): Promise<FoundReplay> {
  const replay =
    replayId === undefined ? await unlessMissing(client.browsers.replays.retrieve(id, { signal })) : undefined;
  if (replay?.session_id !== undefined) return { ...replay, session_id: replay.session_id };
  const replays = await unlessMissing(client.browsers.replays.list(id, { signal }));
  if (!replays) throw new CommandError(`there is no session ${replayId === undefined ? 'or recording ' : ''}${id}`);
  const found = replays.findLast(({ replay_id }) => replayId === undefined || replay_id === replayId);
  if (found) return { ...found, session_id: id };
  const missing = replayId === undefined ? 'recordings' : `recording ${replayId}`;
  throw new CommandError(`the session ${id} has no ${missing}`);
}

type SavedFile = { file: string; bytes: number };

/** Saves a video once it is complete. */
async function save(
  client: Client,
  { session_id, replay_id }: FoundReplay,
  output: string,
  signal: AbortSignal,
): Promise<SavedFile> {
  const deadline = Date.now() + readyTimeout;
  let video = await client.browsers.replays.download(session_id, replay_id, { signal });
  while (!video && Date.now() < deadline) {
    await setTimeout(1000, undefined, { signal });
    video = await client.browsers.replays.download(session_id, replay_id, { signal });
  }
  if (!video)
    throw new CommandError(
      `the video of ${replay_id} is not complete yet: stop the recording, or end its session`,
      exitCodes.nothingThere,
    );
  const file = await fileAt(output, `${replay_id}.${video.contentType === 'video/mp4' ? 'mp4' : 'webm'}`);
  return { file, bytes: await saveBytes(video, file, `Downloading ${replay_id}`, signal) };
}
