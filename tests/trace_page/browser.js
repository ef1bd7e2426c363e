// Drives a headless Chromium over a pipe by the DevTools protocol, without any package.
'use strict';
const {spawn} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

class Browser {
    constructor() {
        this.profile = fs.mkdtempSync(path.join(os.tmpdir(), 'weft-chromium-'));
        this.child = spawn(
            process.env.WEFT_CHROMIUM || 'chromium',
            [
                '--headless=new',
                '--no-sandbox',
                '--disable-gpu',
                '--remote-debugging-pipe',
                '--hide-scrollbars',
                '--disable-background-networking',
                '--disable-component-update',
                '--disable-dev-shm-usage',
                '--no-first-run',
                '--mute-audio',
                '--force-color-profile=srgb',
                `--user-data-dir=${this.profile}`,
                'about:blank',
            ],
            {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']},
        );
        this.next = 1;
        this.calls = new Map();
        this.listeners = [];
        let rest = '';
        this.child.stdio[4].setEncoding('utf8');
        this.child.stdio[4].on('data', data => {
            const parts = (rest + data).split('\0');
            rest = parts.pop();
            for (const part of parts) this.receive(JSON.parse(part));
        });
        this.child.stdio[3].on('error', () => {});
        const lost = new Promise((_, reject) => {
            this.child.on('error', reject);
            this.child.on('exit', code => reject(new Error(`chromium ended with ${code}`)));
        });
        lost.catch(() => {});
        this.lost = lost;
    }
    receive(message) {
        if (message.id === undefined) {
            for (const listen of this.listeners) listen(message);
            return;
        }
        const {resolve, reject} = this.calls.get(message.id);
        this.calls.delete(message.id);
        message.error ? reject(new Error(message.error.message)) : resolve(message.result);
    }
    send(method, params = {}, sessionId = undefined) {
        const id = this.next++;
        const answer = new Promise((resolve, reject) => this.calls.set(id, {resolve, reject}));
        this.child.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
        return Promise.race([answer, this.lost]);
    }

    /// Opens an address in a new tab. `scheme`: dark or light.
    async open(url, {width = 1500, height = 1250, scheme = 'dark'} = {}) {
        const {targetId} = await this.send('Target.createTarget', {url: 'about:blank'});
        const {sessionId} = await this.send('Target.attachToTarget', {targetId, flatten: true});
        const tab = new Tab(this, sessionId, targetId);
        await tab.begin(url, width, height, scheme);
        return tab;
    }
    async close() {
        const ended = new Promise(resolve => this.child.on('exit', resolve));
        this.lost.catch(() => {});
        try {
            await this.send('Browser.close');
        } catch {
            this.child.kill();
        }
        await ended;
        fs.rmSync(this.profile, {recursive: true, force: true, maxRetries: 5, retryDelay: 200});
    }
}

class Tab {
    constructor(browser, sessionId, targetId) {
        Object.assign(this, {browser, sessionId, targetId, errors: [], requests: []});
        browser.listeners.push(message => {
            if (message.sessionId !== sessionId) return;
            const {method, params} = message;
            if (method === 'Runtime.exceptionThrown')
                this.errors.push(
                    params.exceptionDetails.exception?.description || params.exceptionDetails.text,
                );
            if (
                method === 'Runtime.consoleAPICalled' &&
                (params.type === 'error' || params.type === 'warning')
            )
                this.errors.push(params.args.map(arg => arg.value || arg.description).join(' '));
            if (method === 'Log.entryAdded' && params.entry.level === 'error')
                this.errors.push(params.entry.text);
            if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
            if (method === 'Page.loadEventFired') this.loaded();
        });
    }
    send(method, params) {
        return this.browser.send(method, params, this.sessionId);
    }
    async begin(url, width, height, scheme) {
        for (const domain of ['Runtime', 'Log', 'Page', 'Network'])
            await this.send(`${domain}.enable`);
        await this.send('Emulation.setDeviceMetricsOverride', {
            width,
            height,
            deviceScaleFactor: 1,
            mobile: false,
        });
        await this.setScheme(scheme);
        const loaded = new Promise(resolve => {
            this.loaded = resolve;
        });
        await this.send('Page.navigate', {url});
        await Promise.race([loaded, this.browser.lost]);
    }
    setScheme(scheme) {
        return this.send('Emulation.setEmulatedMedia', {
            features: [{name: 'prefers-color-scheme', value: scheme}],
        });
    }
    /// Returns the value of an expression in the page.
    async evaluate(expression) {
        const {result, exceptionDetails} = await this.send('Runtime.evaluate', {
            expression,
            returnByValue: true,
            awaitPromise: true,
        });
        if (exceptionDetails)
            throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
        return result.value;
    }
    /// Calls a function in the page, and returns what it returns.
    call(act, ...values) {
        return this.evaluate(`(${act})(${values.map(value => JSON.stringify(value)).join(', ')})`);
    }
    async key(key, {shift = false} = {}) {
        const named = {ArrowLeft: 37, ArrowRight: 39, Home: 36, End: 35, Escape: 27, Enter: 13};
        const event = {
            key,
            modifiers: shift ? 8 : 0,
            windowsVirtualKeyCode: named[key] || key.toUpperCase().charCodeAt(0),
        };
        if (named[key] === undefined || key === 'Enter') event.text = key === 'Enter' ? '\r' : key;
        await this.send('Input.dispatchKeyEvent', {type: 'keyDown', ...event});
        await this.send('Input.dispatchKeyEvent', {type: 'keyUp', ...event});
    }
    async type(text) {
        for (const letter of text) await this.key(letter);
    }
    mouse(type, x, y, more = {}) {
        return this.send('Input.dispatchMouseEvent', {type, x, y, ...more});
    }
    async drag(from, to, y, modifiers = 0) {
        await this.mouse('mouseMoved', from, y, {modifiers});
        await this.mouse('mousePressed', from, y, {
            button: 'left',
            buttons: 1,
            clickCount: 1,
            modifiers,
        });
        await this.mouse('mouseMoved', (from + to) / 2, y, {button: 'left', buttons: 1, modifiers});
        await this.mouse('mouseMoved', to, y, {button: 'left', buttons: 1, modifiers});
        await this.mouse('mouseReleased', to, y, {button: 'left', clickCount: 1, modifiers});
    }
    /// Waits until what was drawn is on the screen.
    frame() {
        return this.evaluate(
            'new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(0))))',
        );
    }
    async screenshot(file, full = true) {
        await this.frame();
        const {data} = await this.send('Page.captureScreenshot', {
            format: 'png',
            captureBeyondViewport: full,
        });
        fs.writeFileSync(file, Buffer.from(data, 'base64'));
    }
    close() {
        return this.browser.send('Target.closeTarget', {targetId: this.targetId});
    }
}

module.exports = {Browser};
