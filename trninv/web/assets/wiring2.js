import{E as e,T as t,g as n,r,t as i}from"./jsxRuntime.js";import{c as a,f as o,g as s,l as c,u as l}from"./words.js";import{f as u,n as d,o as f,p,s as m}from"./state.js";import{_ as h,b as g,g as _,i as v,v as y,x as b}from"./index.js";import{c as x,i as S,l as C,r as w,t as T}from"./legend.js";import{n as E}from"./wiring.js";import{n as D,t as O}from"./kinds.js";function k({part:e,last:t,domain:o,incident:s,server:c,children:l}){let{asof:f}=n(),{state:h,factor:g}=e,_=t&&new Date(Date.parse(t.at)-1e3).toISOString(),v=`${p(h)}${g===null?``:` at ${a(100*g)} %`}`;return i(`section`,{class:`card flush part-band ${h}`,"aria-label":`State`,children:[i(d,{state:h}),i(`div`,{class:`said`,children:[i(`strong`,{children:h===`up`?`Up`:t?.why??`No reason given`}),i(`span`,{children:[t&&i(A,{last:t,word:v,server:t.cascaded?c:void 0}),t&&`, ${m(t.at,u(f))} ago. `,h===`up`&&t&&`Reason: ${t.why}. `,!t&&h===`up`&&`No change since this cluster was seeded. `,l,` `,h!==`up`&&s&&i(`a`,{href:r(`incidents`,``,{sel:s}),children:[`Incident `,s]})]})]}),i(`div`,{class:`acts`,children:[i(y,{part:e,domain:o}),h!==`up`&&_&&i(`a`,{class:`button`,href:r(`at`,e.address,{asof:_}),children:`View before`})]})]})}function A({last:t,word:n,server:a}){let o=f(t.at).replace(/:\d\d UTC$/,` UTC`);return a?i(e,{children:[i(`a`,{href:r(`at`,a),children:[`Server `,a.split(`/`).at(-1)]}),` was set ${n.replace(`in `,``)} by ${t.who} at ${o}`]}):i(e,{children:`Set ${n.replace(`in `,``)} by ${t.who} at ${o}`})}function j(e,t,n,r){let i=new Map;for(let t of e){if(t.action&&!N(t.address,n)&&!r.includes(t.job??``))continue;let e=t.batch??t.event;i.set(e,[...i.get(e)??[],t])}return[...i.values()].slice(+(e.length<t&&i.size>1)).reverse().map(e=>({event:e.find(({cascaded:e})=>!e)??e[0],addresses:[...new Set(e.map(({address:e})=>e))]}))}var M=(e,t)=>e.findLast(e=>e.address===t&&!e.action)??null,N=(e,t)=>e===t||e.startsWith(`${t}/`);function P(e,t){let n=t.split(`/`).slice(0,2).join(`/`);return e.length<=3?e.map(e=>e===t?`${D(e)} ${e.split(`/`).at(-1)}`:l(l(n,t),o(l(n,e)))).join(`, `):`${a(e.length)}: ${O(e)}`}var F=s(`
  fragment Surroundings on Server {
    address ordinal state model instance host vcpus
    hostMemory { gibibytes }
    lastChange { ...Changed }
    chips(first: 64) { nodes { address ordinal state tray job use lastChange { why } } }
    nics(first: 64) { nodes { address ordinal state factor bandwidth { gigabytesPerSecond } } }
    rack {
      address ordinal rackUnits
      servers(first: 36) { nodes { address ordinal state trays { ordinal kind rackUnits } } }
    }
    domain {
      address model wiring
      servers(first: 64) { nodes { rack { address } } }
      switches(first: 100) { nodes { address ordinal state lastChange { why } server { ordinal } rack { ordinal } } }
      links(filter: { scope: { in: [SERVER, RACK, DOMAIN] } }, first: 1000) {
        nodes {
          address state technology scope
          nominal { gigabytesPerSecond }
          bandwidth { gigabytesPerSecond }
          a { address }
          b { address }
        }
      }
    }
  }
`,[_]),I=s(`
  fragment Placed on Layout {
    box { x y width height }
    font
    strokeWidth
    panels { x y width height }
    labels { text x y anchor strong }
    places { address x y width height text sign solid { x y z } }
    routes { address strokes sign }
    wrapLinks
  }
`),L=s(`
  fragment History on EventConnection { totalCount nodes { ...Changed address batch } }
`,[_]),R=s(`
  query ServerPage($address: Address!, $narrow: Boolean!) {
    incidents(scope: $address, first: 1) { nodes { id } }
    cordons(scope: $address, first: 1) { nodes { why who startedAt } }
    layout(place: $address, narrow: $narrow) { ...Placed }
    events(scope: $address, last: 500) { ...History }
    resolve(address: $address) { __typename ... on Server { factor ...Surroundings } }
  }
`,[F,I,L]),z=s(`
  query ChipPage($address: Address!, $server: Address!, $narrow: Boolean!) {
    incidents(scope: $address, first: 1) { nodes { id } }
    layout(place: $server, narrow: $narrow) { ...Placed }
    events(scope: $address, last: 100) { ...History }
    resolve(address: $address) {
      __typename
      ... on Chip {
        address state factor tray job use
        memory { gibibytes }
        memoryBandwidth { gigabytesPerSecond }
        model { name coreModel }
        cores(first: 1) { totalCount }
        lastChange { ...Changed }
        links(first: 64) { nodes { ...WireWithEnds } }
        server { ...Surroundings }
      }
    }
  }
`,[F,I,L,_,h]),B=s(`
  query Loss($scope: Address!, $domain: Address!) {
    chips(filter: { domain: { eq: $domain } }, first: 1) { aggregates(by: [STATE]) { state count } }
    incidents(scope: $scope, first: 1) {
      nodes {
        impact {
          domains {
            domain chipsBefore chipsNow
            poolBefore { gibibytes }
            poolNow { gibibytes }
            allGatherBefore { upper { gigabytesPerSecond } }
            allGatherNow { upper { gigabytesPerSecond } }
          }
        }
      }
    }
  }
`),V=[[`When, UTC`],[`Change`],[`Reason`],[`Parts`],[`By`]],H=12;function U({events:e,place:t,jobs:n}){let a=j(e.nodes,e.totalCount,t,n);return i(`section`,{class:`card flush part-history`,"aria-label":`History`,children:[i(`h2`,{children:[`History `,i(`span`,{class:`quiet`,children:[c(a.length,`change`),`, one row each`]})]}),a.length?i(v,{name:`Changes, the newest first`,columns:V,children:a.slice(0,H).map(({event:e,addresses:n})=>i(`tr`,{children:[i(`th`,{scope:`row`,children:[i(g,{event:e}),` `,i(`a`,{href:r(`at`,t,{asof:e.event}),title:`The page just after it`,children:f(e.at).replace(/:\d\d UTC$/,``)})]}),i(`td`,{children:b(e)}),i(`td`,{children:e.why}),i(`td`,{children:e.action?null:n.length===1&&n[0]!==t?i(`a`,{href:r(`at`,n[0]),children:P(n,t)}):P(n,t)}),i(`td`,{children:e.who})]},e.event))}):i(`p`,{class:`inner quiet`,children:`No changes since this cluster was seeded.`}),a.length>H&&i(`p`,{class:`foot quiet`,children:[c(a.length-H,`earlier change`),`: open this page at an earlier time to see them.`]})]})}var W=({trays:e})=>e.reduce((e,{rackUnits:t})=>e+(t??0),0);function G(e,t){let n=e.findIndex(e=>e.address===t),r=e.map(W);if(n<0||r.includes(0))return null;let i=r.slice(0,n).reduce((e,t)=>e+t,0);return[i+1,i+(r[n]??0)]}function K({server:e,tray:t}){let{rack:n,domain:a}=e,o=n.servers.nodes,s=o.findIndex(({address:t})=>t===e.address),c=G(o,e.address),[l,u]=[o[s+1],o[s-1]],d=[...new Set(a.servers.nodes.map(({rack:e})=>e.address))].filter(e=>e!==n.address);return i(`section`,{class:`card flush`,"aria-label":`Where it is`,children:[i(`h2`,{children:[`Where it is`,i(`a`,{class:`more`,href:r(`rack`,n.address),children:`Open rack`})]}),i(`div`,{class:`inner where`,children:[i(Y,{servers:o,sel:e.address,tray:t??null,units:n.rackUnits}),i(`dl`,{class:`figures`,children:[i(q,{name:`Rack`,children:i(`a`,{href:r(`rack`,n.address),children:n.address})}),i(q,{name:`Units`,children:c?`U${c[0]} to U${c[1]}`:`not documented`}),t!=null&&i(q,{name:`Tray`,children:[`tray `,t]}),l&&i(J,{name:`Above it`,neighbor:l,domain:a.address}),u&&i(J,{name:`Below it`,neighbor:u,domain:a.address}),i(q,{name:`Domain`,children:i(`a`,{href:r(`domain`,a.address),children:a.address})}),d.length>0&&i(q,{name:`Also in`,children:d.slice(0,4).map((e,t)=>i(`span`,{children:[t>0&&`, `,i(`a`,{href:r(`rack`,e),children:e.split(`/`)[1]})]},e))})]})]})]})}var q=({name:e,children:t})=>i(`div`,{children:[i(`dt`,{children:e}),i(`dd`,{children:t})]}),J=({name:e,neighbor:t,domain:n})=>i(q,{name:e,children:[i(`a`,{href:r(`at`,t.address),children:l(n,t.address)}),`, `,t.state]});function Y({servers:e,sel:t,tray:n,units:a}){let o=Math.max(0,a-e.reduce((e,t)=>e+W(t),0)),s=e.every(e=>W(e)>0),c=e.length<=4,l=new Set(e.map(({address:e})=>e.split(`/`)[1])).size===1;return i(`ol`,{class:`miniature`,reversed:!0,"aria-label":`Servers of the rack, from the top`,children:[s&&o>0&&i(`li`,{class:`free`,style:{flexGrow:o},"aria-hidden":`true`}),[...e].reverse().map(e=>i(`li`,{class:`${e.state} ${e.address===t?`here`:``}`,style:{flexGrow:W(e)||1},children:[i(`a`,{href:r(`at`,e.address),"aria-current":e.address===t?`true`:void 0,children:[(e.state!==`up`||c)&&i(d,{state:e.state}),i(`span`,{class:c?``:`unseen`,children:e.address.split(`/`).slice(l?2:1).join(`/`)}),i(`span`,{class:`unseen`,children:[` `,e.state]})]}),c&&i(`span`,{class:`trays`,"aria-hidden":`true`,children:[...e.trays].reverse().map(r=>i(`i`,{class:`${r.kind} ${e.address===t&&r.kind===`compute`&&r.ordinal===n?`chosen`:``}`},r.ordinal+r.kind))})]},e.address))]})}var X={down:[],derate:[]};function Z(e,t){let n=new Set(t.places.map(({address:e})=>e)),{domain:r}=e,i={...r,servers:{nodes:[{...e}]},switches:{nodes:r.switches.nodes.filter(({address:e})=>n.has(e))},links:{nodes:r.links.nodes.filter(({a:e,b:t})=>n.has(e.address)&&n.has(t.address))}};return E(i,t)}function Q({server:n,placed:a,selected:o=``}){let s=t(()=>Z(n,a),[n,a]),c=t(()=>w(s,X),[s]),u=t(()=>S(s,c),[s,c]),d=e=>{location.hash=r(`at`,e)};return i(e,{children:[i(`section`,{class:`wide`,"aria-label":`Picture`,children:i(C,{id:`wiring`,wiring:s,layout:s.flat,marks:x,chosen:[],selected:o,idle:c,faults:u,derated:new Set,pick:d,open:d,toggle:e=>{location.hash=r(`domain`,s.domain,{down:l(s.domain,e)})},breaking:!1})}),i(T,{wiring:s,mode:`path`,marks:x,idle:c,derated:new Set})]})}export{B as a,k as c,z as i,K as n,R as o,U as r,M as s,Q as t};