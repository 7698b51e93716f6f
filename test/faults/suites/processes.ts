type Processes = typeof import('../../support/processes/processes.ts');

export const { processesWith, sendSignal } = (await import(process.env['PROCESSES_FILE']!)) as Processes;
